"""Re-ranking candidates from encoded corpora: one query, or a job over many."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chamfer.cache.corpus import EncodedCorpus
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.kernels import dispatch
from chamfer.kernels.cosines import cosines
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.support.progress import Advance
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.means import mean_vectors
from chamfer.weights.digest import digest_of
from chamfer.weights.mix import LEXICAL
from chamfer.weights.scale import Scale
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import Table, add_row, empty_table, rows

CANDIDATES = ("query", "documents")
"""Columns of the job's input: query id, and ids of its candidates; also :data:`LEXICAL`, BM25's score of each
candidate, and :data:`OWN`, that of the query's own text, if any weighting needs them."""

OWN = "own"
"""Name of a column."""

RANKED = ("weights", "query", "documents", "scores")
"""Columns of the job's result: name of the weights, query id, document ids and scores, best first."""

# Change it whenever equal work gives other results.
SCORES = "from 0 to 1"

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]


def rerank_encoded(
    query: TokenBatch,
    candidates: Ranking,
    corpus: EncodedCorpus,
    weightings: Mapping[str, TokenWeights],
    *,
    form: Form = DEFAULT_FORM,
    k: int | None = None,
    lexical: Floats | None = None,
    own_lexical: float | None = None,
) -> dict[str, Ranking]:
    """Re-rank the candidates of one query with each of several weightings, from vectors on disk.

    Distances do not depend on weights, so they are computed once for all weightings with the same adapter. The top
    ``k`` for a single weighting are found faster, because most documents need no exact score.

    Args:
        query: a batch of one query.
        candidates: its candidates; their scores are ignored.
        corpus: encoded documents.
        weightings: weights by name.
        form: ``l2`` or ``cosine``.
        k: number of documents to return; all if not given.
        lexical: ``(candidates,)`` BM25's scores; required for a mix with lexical evidence.
        own_lexical: BM25's score of the query's own text; likewise.
    """
    unknown = next((identifier for identifier in candidates.document_ids if identifier not in corpus.place), None)
    if unknown is not None:
        raise InputError(f"candidate {unknown!r} of query {candidates.query_id!r} is not in the encoded corpus")
    if (lexical is None or own_lexical is None) and any(weights.mix.lexical for weights in weightings.values()):
        raise InputError(
            "a mix with lexical evidence needs BM25's scores of the candidates and of the query's own text; "
            "give lexical= and own_lexical="
        )
    places = np.array([corpus.place[identifier] for identifier in candidates.document_ids], dtype=np.int64)
    if k is not None and len(weightings) == 1:
        [(name, weights)] = weightings.items()
        adapted, own = weights.adapt(query), weights.of(query)
        by_id = np.argsort(corpus.order[places])
        added = _added(weights, own, adapted, corpus, places, lexical)
        offsets = None if added is None else [added[by_id]]
        found = dispatch.best(adapted, own, corpus, k=k, candidates=[places[by_id]], form=form, offsets=offsets)[0]
        ids = tuple(corpus.ids[place] for place in found.places)
        ranking = Ranking(candidates.query_id, ids, tuple(found.scores.tolist()))
        return {name: ranking.rescored(Scale(own, weights.mix, form, own_lexical or 0.0).scores)}
    distances: dict[int, Floats] = {}  # by identity: weights of an ablation share one adapter
    rankings = {}
    for name, weights in weightings.items():
        adapted, own, key = weights.adapt(query), weights.of(query), id(weights.adapter)
        if key not in distances:
            distances[key] = dispatch.minima(adapted, corpus, candidates=places, form=form)
        scores = dispatch.score(distances[key], own)
        added = _added(weights, own, adapted, corpus, places, lexical)
        if added is not None:
            scores = scores + added
        ranking = Ranking.of(candidates.query_id, candidates.document_ids, scores, k)
        rankings[name] = ranking.rescored(Scale(own, weights.mix, form, own_lexical or 0.0).scores)
    return rankings


def _added(
    weights: TokenWeights,
    own: Floats,
    adapted: TokenBatch,
    corpus: EncodedCorpus,
    places: Places,
    lexical: Floats | None,
) -> Floats | None:
    """What evidence beside the tokens adds to the score of each candidate; None if the mix is empty."""
    mix = weights.mix
    if not mix:
        return None
    nothing = np.zeros(len(places), np.float32)
    return mix.added(
        own,
        lexical=nothing if lexical is None else lexical,
        pooled=cosines(corpus.means[places], mean_vectors(adapted)[0]) if mix.pooled else nothing,
    )


@dataclass(frozen=True)
class RerankEncoded:
    """A job from a table of :data:`CANDIDATES` to a table of :data:`RANKED`; workers read the vectors from disk.

    They read no texts, so the table has the columns :data:`LEXICAL` and :data:`OWN` if any weighting needs them.

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
            digest.update(digest_of(weights).encode())
        work = [SCORES, self.form, self.k, self.corpus.made_from, self.queries.made_from, tables]
        digest.update(json.dumps(work, sort_keys=True).encode())
        return digest.hexdigest()[:16]

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        ranked = empty_table(RANKED)
        for row, (query_id, documents) in enumerate(rows(table, CANDIDATES)):
            tokens = self.queries.tokens[self.queries.place[query_id]]
            candidates = Ranking(query_id, tuple(documents), (0.0,) * len(documents))
            lexical = np.array(table[LEXICAL][row], np.float32) if LEXICAL in table else None
            rankings = rerank_encoded(
                tokens,
                candidates,
                self.corpus,
                self.weightings,
                form=self.form,
                k=self.k,
                lexical=lexical,
                own_lexical=table[OWN][row] if OWN in table else None,
            )
            for name, ranking in rankings.items():
                add_row(ranked, name, query_id, list(ranking.document_ids), list(ranking.scores))
            advance(1)
        return ranked
