"""Candidates of any first stage for the judged queries of a collection, from an index that is kept in the cache."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from chamfer.cache.corpus import EncodedCorpus
from chamfer.data.collection import Collection
from chamfer.data.documents import Document
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.evaluate.rankings import encode_split, without_own_document
from chamfer.index.encoded import build_encoded
from chamfer.index.encoder import described
from chamfer.index.manifest import read_manifest
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.kernels.form import Form
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import EXACT, FEW, open_stage
from chamfer.search.reranking import rerank_encoded
from chamfer.support.progress import Progress, quiet
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import HERE, Workers


def find_first(
    collection: Collection,
    encoder: Encoder,
    queries: Mapping[str, str],
    weightings: Mapping[str, TokenWeights],
    first_stage: str,
    *,
    cache: Path,
    depth: int = 1000,
    form: Form = "l2",
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> dict[str, list[Ranking]]:
    """Give the best ``depth`` candidates of each query, for each weighting: weights enter where a stage can use them.

    The document with a query's own id is left out.
    """
    encoded, corpus = encode_split(collection, encoder, queries, cache=cache, progress=progress, workers=workers)
    if is_small(corpus) if first_stage == "auto" else first_stage == EXACT:
        return _look_at_all(encoded, corpus, queries, weightings, depth=depth, form=form)
    index = cached_index(collection, encoder, corpus, cache=cache, progress=progress)
    stage = open_stage(first_stage, index, form=form)
    tokens = encoded.tokens.take([encoded.place[identifier] for identifier in queries])
    found: dict[str, list[Ranking]] = {}
    for name, weights in weightings.items():
        asked = Queries(list(queries.values()), tokens, weights.of(tokens))
        found[name] = [
            without_own_document(Ranking.of(identifier, index.ids(one.places), one.scores), depth)
            for identifier, one in zip(queries, stage.find(asked, depth + 1, None), strict=True)
        ]
    return found


def is_small(corpus: EncodedCorpus) -> bool:
    """Whether looking at every document is the fastest way."""
    return corpus.tokens.vectors.size <= FEW


def _look_at_all(
    encoded: EncodedCorpus,
    corpus: EncodedCorpus,
    queries: Mapping[str, str],
    weightings: Mapping[str, TokenWeights],
    *,
    depth: int,
    form: Form,
) -> dict[str, list[Ranking]]:
    """The same from the vectors themselves: an index in 8 bits would have to decode what is found, one by one."""
    return {
        name: [
            without_own_document(
                rerank_encoded(
                    encoded.tokens[encoded.place[identifier]],
                    Ranking(identifier, corpus.ids, (0.0,) * len(corpus)),
                    corpus,
                    {name: weights},
                    form=form,
                    k=depth + 1,
                )[name],
                depth,
            )
            for identifier in queries
        ]
        for name, weights in weightings.items()
    }


def cached_index(
    collection: Collection, encoder: Encoder, corpus: EncodedCorpus, *, cache: Path, progress: Progress = quiet
) -> Snapshot:
    """Open an index of an encoded collection, or make it: in 8 bits, because candidates are scored from ``corpus``."""
    key = hashlib.sha256("-".join(str(part) for part in corpus.made_from.values()).encode()).hexdigest()[:16]
    folder = cache / f"index-{key}"
    manifest = read_manifest(folder)
    if manifest is not None and manifest.building is None and manifest.segments:
        return Snapshot.open(folder)
    settings = Settings(encoder.dimensions, len(encoder.vocabulary), precision="int8", encoder=described(encoder))
    documents = [Document(identifier, collection.documents[identifier]) for identifier in corpus.ids]
    build_encoded(folder, documents, corpus.tokens, settings, progress=progress)
    return Snapshot.open(folder)
