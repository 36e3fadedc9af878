"""Re-ranking candidates from encoded corpora: one query, or a job over many."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chamfer.cache.corpus import EncodedCorpus
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.kernels import dispatch
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.support.progress import Advance
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import Table, add_row, empty_table, rows

CANDIDATES = ("query", "documents")
"""Columns of the job's input: query id, and ids of its candidates."""

RANKED = ("weights", "query", "documents", "scores")
"""Columns of the job's result: name of the weights, query id, document ids and scores, best first."""


def rerank_encoded(
    query: TokenBatch,
    candidates: Ranking,
    corpus: EncodedCorpus,
    weightings: Mapping[str, TokenWeights],
    *,
    form: Form = DEFAULT_FORM,
    k: int | None = None,
) -> dict[str, Ranking]:
    """Re-rank the candidates of one query with each of several weightings, from vectors on disk.

    Distances do not depend on weights, so they are computed once for all. The top ``k`` for a single weighting are
    found faster, because most documents need no exact score.

    Args:
        query: a batch of one query.
        candidates: its candidates; their scores are ignored.
        corpus: encoded documents.
        weightings: weights by name.
        form: ``l2`` or ``cosine``.
        k: number of documents to return; all if not given.
    """
    unknown = next((identifier for identifier in candidates.document_ids if identifier not in corpus.place), None)
    if unknown is not None:
        raise InputError(f"candidate {unknown!r} of query {candidates.query_id!r} is not in the encoded corpus")
    places = np.array([corpus.place[identifier] for identifier in candidates.document_ids], dtype=np.int64)
    if k is not None and len(weightings) == 1:
        [(name, weights)] = weightings.items()
        by_id = places[np.argsort(corpus.order[places])]
        found = dispatch.best(query, weights.of(query), corpus, k=k, candidates=[by_id], form=form)[0]
        ids = tuple(corpus.ids[place] for place in found.places)
        return {name: Ranking(candidates.query_id, ids, tuple(found.scores.tolist()))}
    distances = dispatch.minima(query, corpus, candidates=places, form=form)
    return {
        name: Ranking.of(candidates.query_id, candidates.document_ids, dispatch.score(distances, weights.of(query)), k)
        for name, weights in weightings.items()
    }


@dataclass(frozen=True)
class RerankEncoded:
    """A job from a table of :data:`CANDIDATES` to a table of :data:`RANKED`; workers read the vectors from disk.

    Args:
        queries: encoded queries.
        corpus: encoded documents.
        weightings: weights by name.
        form: ``l2`` or ``cosine``.
        k: number of documents to return for each query; all if not given.
    """

    queries: EncodedCorpus
    corpus: EncodedCorpus
    weightings: Mapping[str, TokenWeights]
    form: Form = DEFAULT_FORM
    k: int | None = None

    def key(self, tables: Sequence[Table]) -> str:
        """A key that is equal for equal work."""
        digest = hashlib.sha256()
        for name, weights in self.weightings.items():
            digest.update(name.encode())
            digest.update(weights.table.tobytes())
            digest.update(b"" if weights.context is None else weights.context.tobytes())
        work = [self.form, self.k, self.corpus.made_from, self.queries.made_from, tables]
        digest.update(json.dumps(work, sort_keys=True).encode())
        return digest.hexdigest()[:16]

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        ranked = empty_table(RANKED)
        for query_id, documents in rows(table, CANDIDATES):
            tokens = self.queries.tokens[self.queries.place[query_id]]
            candidates = Ranking(query_id, tuple(documents), (0.0,) * len(documents))
            rankings = rerank_encoded(tokens, candidates, self.corpus, self.weightings, form=self.form, k=self.k)
            for name, ranking in rankings.items():
                add_row(ranked, name, query_id, list(ranking.document_ids), list(ranking.scores))
            advance(1)
        return ranked
