"""From vectors that are at hand to an index, without a model."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chamfer.data.documents import Document
from chamfer.index.settings import Settings
from chamfer.index.trained import sample_size
from chamfer.index.writing import writing
from chamfer.support.progress import Progress, quiet
from chamfer.tokens.batch import TokenBatch, parts

# Tokens between two commits: what an interruption can lose, and what is in memory.
CHUNK = 2**21


def build_encoded(
    folder: Path, documents: Sequence[Document], tokens: TokenBatch, settings: Settings, *, progress: Progress = quiet
) -> None:
    """Build an index of documents whose vectors are at hand, or go on with a build that was interrupted."""
    with writing(folder, settings) as writer, progress("indexing documents", len(documents)) as advance:
        building = writer.manifest.building or {"documents": len(documents), "done": 0}
        if writer.trained is None:
            share = sample_size(len(tokens.vectors)) / max(1, len(tokens.vectors))
            chosen = np.random.default_rng(0).choice(len(tokens), max(1, int(share * len(tokens))), replace=False)
            writer.train(tokens.take(np.sort(chosen)), tokens=len(tokens.vectors))
        done = building["done"]
        advance(done)
        for part in parts(tokens.offsets[done:], CHUNK):
            some = slice(done + part.start, done + part.stop)
            writer.add(documents[some], tokens[some], building={**building, "done": some.stop})
            advance(part.stop - part.start)
        writer.set_building(None)
