"""Rankings for some queries of a collection: candidates first, then each weighting."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import Collection
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels.form import Form
from chamfer.retrieve.bm25 import BM25
from chamfer.search.reranking import rerank_all
from chamfer.support.progress import Progress, quiet
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import HERE, Workers


def find_candidates(
    collection: Collection, queries: Mapping[str, str], *, given: Sequence[Ranking] | None = None, depth: int = 1000
) -> list[Ranking]:
    """Give the best ``depth`` candidates of each query: BM25's, or those of a ranking from elsewhere.

    The document with a query's own id is left out, as BEIR does: in ArguAna every query is a document.
    """
    if given is None:
        # One more than asked for, because the query's own document is usually the first.
        found = BM25(collection.documents).search(queries, depth + 1)
    else:
        found = [ranking for ranking in given if ranking.query_id in queries]
        if not found:
            raise InputError(f"the candidates are for none of the {len(queries)} queries; are they of this collection?")
        for ranking in found:
            unknown = next(
                (document for document in ranking.document_ids if document not in collection.documents), None
            )
            if unknown is not None:
                raise InputError(
                    f"candidate {unknown!r} of query {ranking.query_id!r} is not a document of {collection.name}"
                )
    return [without_own_document(ranking, depth) for ranking in found]


def encode_split(
    collection: Collection,
    encoder: Encoder,
    queries: Mapping[str, str],
    *,
    cache: Path,
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> tuple[EncodedCorpus, EncodedCorpus]:
    """Encode some queries and all documents of a collection into ``cache``, or read them from it."""
    documents = collection.documents
    with progress("encoding documents", len(documents)) as advance:
        corpus = encode_cached(
            cache, encoder, list(documents), list(documents.values()), advance=advance, workers=workers
        )
    with progress("encoding queries", len(queries)) as advance:
        encoded = encode_cached(
            cache, encoder, list(queries), list(queries.values()), role="query", advance=advance, workers=workers
        )
    return encoded, corpus


def rank_split(
    collection: Collection,
    encoder: Encoder,
    weightings: Mapping[str, TokenWeights],
    candidates: Sequence[Ranking],
    *,
    cache: Path,
    form: Form = "l2",
    k: int | None = None,
    resume: bool = False,
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> dict[str, list[Ranking]]:
    """Rank the candidates of every query again, once for each weighting, and keep the best ``k``.

    Documents and queries are encoded into ``cache``, or read from it, by ``workers``; where ``resume`` is set, rankings
    are also kept there until all are done.
    """
    queries = {ranking.query_id: collection.queries[ranking.query_id] for ranking in candidates}
    encoded, corpus = encode_split(collection, encoder, queries, cache=cache, progress=progress, workers=workers)
    with progress("re-ranking", len(candidates)) as advance:
        return rerank_all(
            encoded,
            candidates,
            corpus,
            weightings,
            form=form,
            k=k,
            keep=cache if resume else None,
            advance=advance,
            workers=workers,
        )


def without_own_document(ranking: Ranking, depth: int) -> Ranking:
    """Leave out the document with the query's own id, as BEIR does, and keep the best ``depth`` of the others."""
    kept = [
        (document, score)
        for document, score in zip(ranking.document_ids, ranking.scores, strict=True)
        if document != ranking.query_id
    ][:depth]
    return Ranking(ranking.query_id, tuple(d for d, _ in kept), tuple(s for _, s in kept))
