"""nDCG@10 and Recall@10 of weights on judged queries, fast enough to be computed thousands of times."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.mix import Mix
from chamfer.weights.token_weights import TokenWeights

Floats = npt.NDArray[np.float32]

Quality = npt.NDArray[np.float64]
"""``(queries, 2)``: the main measures of every query, nDCG@10 and Recall@10, as ir-measures defines them."""

DISCOUNTS = 1 / np.log2(np.arange(2, 12))


def quality(queries: Sequence[JudgedQuery], weights: TokenWeights, *, adapted: int | None = None) -> Quality:
    """Rank the candidates of each query with some weights, and measure the rankings.

    Args:
        queries: judged queries with their minima.
        weights: weights to measure.
        adapted: number of candidates to rank with the adapter, the best without it; all by default.
    """
    return np.array([_quality_of(query, weights, adapted) for query in queries]).reshape(len(queries), 2)


def ranked(query: JudgedQuery, weights: TokenWeights, *, adapted: int | None = None) -> npt.NDArray[np.int64]:
    """Return the places of the candidates, best first; for ``adapted`` see :func:`quality`."""
    own = weights.of_tokens(query.token_ids, query.vectors)
    lexical, pooled = query.evidence()
    order = np.argsort(_far(query.distances, own, weights.mix, lexical, pooled), kind="stable")
    if weights.adapter is None:
        return order
    if query.vectors_of is None or query.places is None:
        raise InputError(f"an adapter needs the vectors of the candidates of query {query.query_id!r}")
    chosen = np.sort(order[:adapted])
    ids = query.token_ids
    moved = TokenBatch(weights.adapter.adapted(query.vectors), ids, np.array([0, len(ids)], np.int64))
    places = query.places[chosen]
    distances, cosines = query.vectors_of.minima(moved, places), query.vectors_of.pooled(moved, places)
    again = np.argsort(_far(distances, own, weights.mix, lexical[chosen], cosines), kind="stable")
    return np.concatenate([chosen[again], order[len(chosen) :]])


def _far(distances: Floats, own: Floats, mix: Mix, lexical: Floats, pooled: Floats) -> Floats:
    """How far candidates are: their scores, negated and times the number of query tokens."""
    with np.errstate(invalid="ignore"):  # 0 * inf: a document without tokens is infinitely far
        far: Floats = np.nan_to_num(distances @ own, nan=np.inf)
    return far - len(own) * mix.added(own, lexical=lexical, pooled=pooled) if mix else far


def _quality_of(query: JudgedQuery, weights: TokenWeights, adapted: int | None) -> tuple[float, float]:
    if not len(query.ideal):  # nothing is relevant
        return 0.0, 0.0
    grades = query.grades[ranked(query, weights, adapted=adapted)[:10]]
    ideal = query.ideal[:10]
    gained = float(grades @ DISCOUNTS[: len(grades)]) / float(ideal @ DISCOUNTS[: len(ideal)])
    return gained, float((grades > 0).sum()) / len(query.ideal)
