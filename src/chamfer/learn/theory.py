"""The number of judged pairs that the paper's theorems require, estimated from cached minima.

The theorems are about recovering weights from scores, or classifying pairs by a threshold, not about ranking. They show
how demanding a collection is, not how many queries to judge; ``chamfer learn --curve`` measures that.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, eigsh

from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen

# Up to this size, a dense solver is faster and exact.
DENSE = 1500


class SampleComplexity(NamedTuple):
    """Theorem 1: the number of scored pairs that recover hidden weights with probability ``1 - delta``."""

    tokens: int
    """``T``, the number of distinct tokens in the judged queries."""
    pairs: int
    """Number of query-document pairs that ``A`` was estimated from."""
    smallest_eigenvalue: float
    """``lambda_min(A)``, ``A`` the mean of ``x x^T / len(q)``; ``x`` holds the best cosine of each query token."""
    needed: float | None
    """``R log(T / delta) / (lambda_min(A) * f(epsilon))``; None if some combination of weights has no effect.

    ``R`` is the largest ``|x|^2 / len(q)``, at most 1 in the theorem; a query that repeats a token exceeds it.
    """
    excess_risk: float
    """:func:`generalisation_bound` for these tokens and pairs."""


def sample_complexity(
    queries: Sequence[JudgedQuery], *, form: Form = DEFAULT_FORM, delta: float = 0.05, epsilon: float = 0.5
) -> SampleComplexity:
    """Estimate ``lambda_min(A)`` from the minima of judged queries, and the bound of Theorem 1.

    ``f(epsilon) = epsilon + (1 - epsilon) log(1 - epsilon)``, which is what the matrix Chernoff inequality gives; the
    paper prints a minus sign in the middle.
    """
    if not 0 < delta < 1 or not 0 < epsilon < 1:
        raise InputError(f"delta and epsilon must lie between 0 and 1, not {delta} and {epsilon}")
    if not queries:
        raise InputError("an estimate needs at least one judged query")
    seen = tokens_seen(queries)
    total = sparse.csr_array((len(seen), len(seen)))
    pairs, largest = 0, 1.0
    for query in queries:
        distances = query.distances[np.isfinite(query.distances[:, 0])].astype(np.float64)
        slots = np.searchsorted(seen, query.token_ids)
        # A token that occurs twice in a query counts with the sum of its cosines, as in the score.
        spread = sparse.csr_array((np.ones(len(slots)), (np.arange(len(slots)), slots)), (len(slots), len(seen)))
        cosines = 1 - distances**2 / 2 if form == "l2" else -distances
        x = sparse.csr_array(cosines @ spread)
        total = total + (x.T @ x) / len(slots)
        largest = max(largest, float(x.power(2).sum(axis=1).max()) / len(slots)) if len(distances) else largest
        pairs += len(distances)
    smallest = max(_smallest_eigenvalue(total / pairs), 0.0)
    rate = epsilon + (1 - epsilon) * math.log(1 - epsilon)
    needed = largest * math.log(len(seen) / delta) / (smallest * rate) if smallest > 1e-12 else None
    return SampleComplexity(len(seen), pairs, smallest, needed, generalisation_bound(len(seen), pairs, delta=delta))


def generalisation_bound(tokens: int, pairs: int, *, delta: float = 0.05) -> float:
    """Bound on the excess risk, with probability ``1 - delta``, of the best classifier that was found.

    ``4 sqrt(2 T (log n + 1) / n) + sqrt(2 log(2 / delta) / n)``; above 1 the bound is vacuous.
    """
    if tokens < 1 or pairs < 1 or not 0 < delta < 1:
        raise InputError("the bound needs at least one token and one pair, and delta between 0 and 1")
    return 4 * math.sqrt(2 * tokens * (math.log(pairs) + 1) / pairs) + math.sqrt(2 * math.log(2 / delta) / pairs)


def pairs_needed(tokens: int, risk: float, *, delta: float = 0.05) -> int:
    """Return the smallest number of pairs for which :func:`generalisation_bound` is at most ``risk``, within 0.1%."""
    if not risk > 0:
        raise InputError(f"the risk must be above 0, not {risk}")
    low, high = 1, 2
    while generalisation_bound(tokens, high, delta=delta) > risk:
        low, high = high, high * 2
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if generalisation_bound(tokens, middle, delta=delta) <= risk else (middle, high)
    return high


def _smallest_eigenvalue(matrix: sparse.csr_array) -> float:
    if matrix.shape[0] <= DENSE:
        return float(np.linalg.eigvalsh(matrix.toarray())[0])
    try:
        # Shift-invert just below 0: the smallest eigenvalue of a positive semi-definite matrix is the nearest.
        return float(eigsh(sparse.csc_array(matrix), k=1, sigma=-1e-6, return_eigenvectors=False)[0])
    except ArpackError:
        return float(np.linalg.eigvalsh(matrix.toarray())[0])
