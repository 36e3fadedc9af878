"""Rankings for the judged queries of one split: first stage, then each weighting."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from chamfer.cache import encode_cached
from chamfer.encode import Encoder
from chamfer.errors import InputError
from chamfer.evaluation.beir import Collection
from chamfer.kernels import Form
from chamfer.progress import Progress, quiet
from chamfer.ranking import Ranking
from chamfer.reranking import rerank_encoded
from chamfer.retrieve.bm25 import BM25
from chamfer.weights import TokenWeights


def rank_split(
    collection: Collection,
    encoder: Encoder,
    weightings: Mapping[str, TokenWeights],
    candidates: Sequence[Ranking],
    *,
    cache: Path,
    form: Form = "l2",
    progress: Progress = quiet,
) -> dict[str, list[Ranking]]:
    """Rank the candidates of every query again, once for each weighting.

    Documents and queries are encoded into ``cache``, or read from it.
    """
    documents, queries = collection.documents, {ranking.query_id for ranking in candidates}
    texts = {identifier: text for identifier, text in collection.queries.items() if identifier in queries}
    if len(texts) != len(queries):
        unknown = sorted(queries - set(texts))[0]
        raise InputError(f"the first stage ranks for query {unknown!r}, which is not in {collection.name}")
    with progress("encoding documents", len(documents)) as advance:
        corpus = encode_cached(
            cache, collection.name, encoder, list(documents), list(documents.values()), advance=advance
        )
    with progress("encoding queries", len(texts)) as advance:
        encoded = encode_cached(
            cache, collection.name, encoder, list(texts), list(texts.values()), role="query", advance=advance
        )
    rankings: dict[str, list[Ranking]] = {name: [] for name in weightings}
    with progress("re-ranking", len(candidates)) as advance:
        for found in candidates:
            query = encoded.tokens[encoded.place[found.query_id]]
            for name, ranking in rerank_encoded(query, found, corpus, weightings, form=form).items():
                rankings[name].append(ranking)
            advance(1)
    return rankings


def first_stage(collection: Collection, queries: Mapping[str, str], *, depth: int = 1000) -> list[Ranking]:
    """Rank with BM25 the best ``depth`` documents for each query, the query's own document left out."""
    # One more than asked for, because the query's own document is usually the first.
    found = BM25(collection.documents).search(queries, depth + 1)
    return [without_own_document(ranking, depth) for ranking in found]


def without_own_document(ranking: Ranking, depth: int | None = None) -> Ranking:
    """Drop the document that has the query's id, as BEIR does, and keep the best ``depth``."""
    kept = [
        (document, score)
        for document, score in zip(ranking.document_ids, ranking.scores, strict=True)
        if document != ranking.query_id
    ][:depth]
    return Ranking(ranking.query_id, tuple(d for d, _ in kept), tuple(s for _, s in kept))
