"""Candidates for the queries of a collection, and their re-ranking by each weighting."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from chamfer.data.collection import Collection
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.evaluate.setup import Setup, open_setup
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.bm25 import BM25, Scores
from chamfer.retrieve.stage import DEFAULT_DEPTH
from chamfer.search.rerank_all import Lexical, rerank_all
from chamfer.search.rerank_encoded import RerankEncoded
from chamfer.weights.names import weights_by_name
from chamfer.weights.token_weights import TokenWeights


class Reranked(NamedTuple):
    """Rankings, and how many texts were truncated."""

    rankings: Sequence[Ranking]
    truncated: Mapping[str, int]
    """Numbers of queries and documents that exceed the encoder's lengths."""


def rerank_collection(
    collection: Collection,
    weights: str,
    *,
    encoder: Encoder,
    split: str | None = None,
    candidates: Sequence[Ranking] | None = None,
    depth: int | None = None,
    k: int | None = None,
    form: Form = DEFAULT_FORM,
    cache: Path | None = None,
    progress: bool | None = None,
    ray: str | None = None,
) -> Reranked:
    """Re-rank the candidates of every query, or of the judged queries of a split; an interrupted call can be repeated.

    Args:
        collection: documents and queries.
        weights: ``uniform``, ``idf``, ``idf-soft``, ``mix``, or a weights file.
        encoder: encoder of queries and documents.
        split: split whose judged queries are re-ranked; all queries by default.
        candidates: rankings to re-rank; BM25's by default.
        depth: number of candidates per query; 1000 by default.
        k: number of documents to return per query; all by default.
        form: ``l2`` or ``cosine``.
        cache: folder for vectors and finished work; the user's cache folder by default.
        progress: whether to show a progress bar; by default only if stderr is a terminal.
        ray: address of a Ray cluster, or ``"local"`` for Ray workers on this machine; by default this process works.
    """
    queries = collection.judged_queries(split) if split else collection.queries
    with open_setup(
        collection, encoder=encoder, cache=cache, form=form, depth=depth, progress=progress, ray=ray
    ) as setup:
        chosen = weights_by_name(weights, encoder, lambda: setup.frequencies, form=form)
        bm25 = setup.bm25 if candidates is None else None
        found = find_candidates(collection, queries, given=candidates, depth=setup.depth, bm25=bm25)
        ranked = rerank_candidates(setup, {weights: chosen}, found, k=k, resume=True)[weights]
        return Reranked(ranked, setup.truncated(queries))


def find_candidates(
    collection: Collection,
    queries: Mapping[str, str],
    *,
    given: Sequence[Ranking] | None = None,
    depth: int = DEFAULT_DEPTH,
    bm25: BM25 | None = None,
) -> list[Ranking]:
    """Return the top ``depth`` candidates of each query, by BM25 or from a given ranking.

    A document that is the query itself is left out: in ArguAna nearly every query is also a document.

    Args:
        collection: documents and queries.
        queries: queries by id.
        given: rankings to take candidates from, instead of BM25's.
        depth: number of candidates per query.
        bm25: BM25 over the documents, such as :attr:`Setup.bm25`; built if necessary.
    """
    if given is None:
        # One more than needed, because the query's own document is usually the first.
        found = (bm25 or BM25(collection.documents)).search(queries, depth + 1)
    else:
        found = [ranking for ranking in given if ranking.query_id in queries]
        if not found:
            raise InputError(
                f"the candidates contain none of the {len(queries)} queries; are they from another collection?"
            )
        for ranking in found:
            unknown = next(
                (document for document in ranking.document_ids if document not in collection.documents), None
            )
            if unknown is not None:
                raise InputError(
                    f"candidate {unknown!r} of query {ranking.query_id!r} is not a document of {collection.name}"
                )
    return [without_own_document(collection, ranking, depth) for ranking in found]


def rerank_candidates(
    setup: Setup,
    weightings: Mapping[str, TokenWeights],
    candidates: Sequence[Ranking],
    *,
    k: int | None = None,
    resume: bool = False,
) -> dict[str, list[Ranking]]:
    """Re-rank the candidates of every query with each weighting.

    Args:
        setup: shared settings.
        weightings: weights by name.
        candidates: candidates of each query.
        k: number of documents to return per query; all if not given.
        resume: save finished rankings in the cache until all are done, so that an interrupted call can be repeated.
    """
    queries = {ranking.query_id: setup.collection.queries[ranking.query_id] for ranking in candidates}
    corpus, encoded = setup.corpus, setup.encode_queries(queries)
    job = RerankEncoded(encoded, corpus, weightings, setup.form, k)
    keep = setup.cache if resume else None

    def scores(query: str, documents: Sequence[str]) -> Scores:
        return setup.bm25.scores(queries[query], documents)

    def own(query: str) -> float:
        return setup.bm25.own(queries[query])

    with setup.progress("re-ranking", len(candidates)) as advance:
        return rerank_all(
            job, candidates, lexical=Lexical(scores, own), keep=keep, advance=advance, workers=setup.workers
        )


def without_own_document(collection: Collection, ranking: Ranking, depth: int) -> Ranking:
    """Return the top ``depth`` documents other than the query itself."""
    return without_document(ranking, collection.own_document(ranking.query_id), depth)


def without_document(ranking: Ranking, excluded: str | None, depth: int) -> Ranking:
    """Return the top ``depth`` documents other than ``excluded``."""
    kept = [
        (document, score)
        for document, score in zip(ranking.document_ids, ranking.scores, strict=True)
        if document != excluded
    ][:depth]
    return Ranking(ranking.query_id, tuple(d for d, _ in kept), tuple(s for _, s in kept))
