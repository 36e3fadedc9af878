"""nDCG@10 and Recall@10 of weights on judged queries, fast enough to be computed thousands of times."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.learn.judged import JudgedQuery
from chamfer.weights.token_weights import TokenWeights

Quality = npt.NDArray[np.float64]
"""``(queries, 2)``: the main measures of every query, nDCG@10 and Recall@10, as ir-measures defines them."""

DISCOUNTS = 1 / np.log2(np.arange(2, 12))


def quality(queries: Sequence[JudgedQuery], weights: TokenWeights) -> Quality:
    """Rank the candidates of each query with some weights, and measure the rankings."""
    return np.array([_quality_of(query, weights) for query in queries]).reshape(len(queries), 2)


def ranked(query: JudgedQuery, weights: TokenWeights) -> npt.NDArray[np.int64]:
    """Return the places of the candidates, closest first."""
    with np.errstate(invalid="ignore"):  # 0 * inf: a document without tokens is infinitely far
        far = np.nan_to_num(query.distances @ weights.of_tokens(query.token_ids, query.vectors), nan=np.inf)
    return np.argsort(far, kind="stable")


def _quality_of(query: JudgedQuery, weights: TokenWeights) -> tuple[float, float]:
    if not len(query.ideal):  # nothing is relevant
        return 0.0, 0.0
    grades = query.grades[ranked(query, weights)[:10]]
    ideal = query.ideal[:10]
    gained = float(grades @ DISCOUNTS[: len(grades)]) / float(ideal @ DISCOUNTS[: len(ideal)])
    return gained, float((grades > 0).sum()) / len(query.ideal)
