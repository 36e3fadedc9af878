"""Candidates of any first stage for the queries of a collection, from an index in the cache."""

import hashlib
from collections.abc import Mapping

from chamfer.cache.corpus import EncodedCorpus
from chamfer.data.documents import Document
from chamfer.data.ranking import Ranking
from chamfer.evaluate.rankings import without_own_document
from chamfer.evaluate.setup import Setup
from chamfer.index.encoded import build_encoded
from chamfer.index.encoder import described
from chamfer.index.manifest import read_manifest
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import AUTO, EXACT, fastest_name, open_stage
from chamfer.search.rerank_encoded import rerank_encoded
from chamfer.weights.token_weights import TokenWeights


def find_first(
    setup: Setup, queries: Mapping[str, str], weightings: Mapping[str, TokenWeights], first_stage: str
) -> dict[str, list[Ranking]]:
    """Return the top candidates of each query for each weighting, without the query itself.

    Weights and adapters matter only to stages that can use them, and a mix only where all documents are scored.
    """
    corpus, encoded = setup.corpus, setup.encode_queries(queries)
    if first_stage == AUTO:
        first_stage = fastest_name(len(corpus.tokens.vectors), corpus.dimensions)
    if first_stage == EXACT:
        return _score_all(setup, encoded, queries, weightings)
    index = cached_index(setup)
    stage = open_stage(first_stage, index)
    tokens = encoded.tokens.take([encoded.place[identifier] for identifier in queries])
    found: dict[str, list[Ranking]] = {}
    for name, weights in weightings.items():
        texts, adapted = list(queries.values()), weights.adapt(tokens)
        weighted = Queries(texts, adapted, weights.of(tokens), setup.form, weights.mix)
        found[name] = [
            without_own_document(
                setup.collection, Ranking.of(identifier, index.ids(one.places), one.scores), setup.depth
            )
            for identifier, one in zip(queries, stage.find(weighted, setup.depth + 1, None), strict=True)
        ]
    return found


def _score_all(
    setup: Setup, encoded: EncodedCorpus, queries: Mapping[str, str], weightings: Mapping[str, TokenWeights]
) -> dict[str, list[Ranking]]:
    """Score every document from its cached vectors, which are faster to read than an 8-bit index is to decode."""
    corpus = setup.corpus
    return {
        name: [
            without_own_document(
                setup.collection,
                rerank_encoded(
                    encoded.tokens[encoded.place[identifier]],
                    Ranking(identifier, corpus.ids, (0.0,) * len(corpus)),
                    corpus,
                    {name: weights},
                    form=setup.form,
                    k=setup.depth + 1,
                    lexical=setup.bm25.scores(text, corpus.ids) if weights.mix.lexical else None,
                    own_lexical=setup.bm25.own(text) if weights.mix.lexical else None,
                )[name],
                setup.depth,
            )
            for identifier, text in queries.items()
        ]
        for name, weights in weightings.items()
    }


def cached_index(setup: Setup) -> Snapshot:
    """Open the index of a collection in the cache, or build it.

    It has 8 bits per dimension, because candidates are scored again from the cached vectors.
    """
    encoder, corpus = setup.encoder, setup.corpus
    key = hashlib.sha256("-".join(str(part) for part in corpus.made_from.values()).encode()).hexdigest()[:16]
    folder = setup.cache / f"index-{key}"
    manifest = read_manifest(folder)
    if manifest is not None and manifest.building is None and manifest.segments:
        return Snapshot.open(folder)
    settings = Settings(encoder.dimensions, len(encoder.vocabulary), precision="int8", encoder=described(encoder))
    documents = [Document(identifier, setup.collection.documents[identifier]) for identifier in corpus.ids]
    build_encoded(folder, documents, corpus.tokens, settings, progress=setup.progress)
    return Snapshot.open(folder)
