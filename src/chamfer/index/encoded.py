"""Building an index from vectors that exist already, without a model."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chamfer.data.corpus import InMemory
from chamfer.data.documents import Document
from chamfer.index.manifest import begun_build
from chamfer.index.settings import Settings
from chamfer.index.texts import check_storable
from chamfer.index.trained import sample_size
from chamfer.index.writing import writing
from chamfer.support.progress import Before, Progress, quiet
from chamfer.support.sampling import draw
from chamfer.tokens.batch import TokenBatch, parts

# Tokens per commit. An interruption loses at most this much, and no more than this is in memory.
CHUNK = 2**21


def build_encoded(
    folder: Path, documents: Sequence[Document], tokens: TokenBatch, settings: Settings, *, progress: Progress = quiet
) -> None:
    """Build an index from documents and their vectors, or continue a build that was interrupted.

    Args:
        folder: folder of the index.
        documents: the documents.
        tokens: their vectors, in the same order.
        settings: settings of the index.
        progress: progress reporting.
    """
    for document in documents:
        check_storable(document)
    with writing(folder, settings) as writer, progress("indexing documents", len(documents)) as advance:
        made_from = {"documents": len(documents), "corpus": _digest(documents, tokens)}
        building = begun_build(writer.manifest, made_from, folder)
        if writer.trained is None:
            share = sample_size(len(tokens.vectors)) / max(1, len(tokens.vectors))
            chosen = draw(len(tokens), max(1, int(share * len(tokens))))
            writer.train(tokens.take(chosen), tokens=len(tokens.vectors))
        done = building["done"]
        advance(Before(done))
        for part in parts(tokens.offsets[done:], CHUNK):
            some = slice(done + part.start, done + part.stop)
            writer.add(documents[some], tokens[some], building={**building, "done": some.stop})
            advance(part.stop - part.start)
        writer.set_building(None)


def _digest(documents: Sequence[Document], tokens: TokenBatch) -> str:
    """Equal only for the same documents with the same numbers of tokens and the same token ids."""
    digest = hashlib.sha256(InMemory(tuple(documents)).digest.encode())
    for values in (tokens.offsets, tokens.token_ids):
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()[:16]
