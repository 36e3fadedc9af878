"""How many judged pairs the paper's theorems ask for, estimated from cached minima.

The theorems are about recovering weights from scores, or classifying pairs by a threshold, not about ranking: they
tell how demanding a collection is, not how many queries to judge. ``chamfer learn --curve`` measures that.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, eigsh

from chamfer.errors import InputError
from chamfer.kernels.form import Form
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen

# Below this, a dense solver is faster and exact.
DENSE = 1500


class SampleComplexity(NamedTuple):
    """Theorem 1: with so many scored pairs, hidden weights are recovered with probability ``1 - delta``."""

    tokens: int
    """``T``, the tokens that the judged queries have."""
    pairs: int
    """The query-document pairs that ``A`` was estimated from."""
    smallest_eigenvalue: float
    """``lambda_min(A)``, ``A`` the mean of ``x x^T / len(q)``; ``x`` holds the best cosine of each query token."""
    needed: float | None
    """``R log(T / delta) / (lambda_min(A) * f(epsilon))``; None where some combination of weights has no effect.

    ``R`` is the largest ``|x|^2 / len(q)``, at most 1 in the theorem; a query that repeats a token exceeds it.
    """
    excess_risk: float
    """:func:`generalisation_bound` for these tokens and pairs."""


def sample_complexity(
    queries: Sequence[JudgedQuery], *, form: Form = "l2", delta: float = 0.05, epsilon: float = 0.5
) -> SampleComplexity:
    """Estimate ``lambda_min(A)`` from the minima of judged queries, and the bound of Theorem 1.

    ``f(epsilon) = epsilon + (1 - epsilon) log(1 - epsilon)``, which is what the matrix Chernoff inequality gives; the
    paper prints a minus sign in the middle.
    """
    if not 0 < delta < 1 or not 0 < epsilon < 1:
        raise InputError("delta and epsilon lie between 0 and 1")
    if not queries:
        raise InputError("an estimate needs at least one judged query")
    seen = tokens_seen(queries)
    total = sparse.csr_array((len(seen), len(seen)))
    pairs, largest = 0, 1.0
    for query in queries:
        distances = query.distances[np.isfinite(query.distances[:, 0])].astype(np.float64)
        slots = np.searchsorted(seen, query.token_ids)
        # A token that a query has twice counts with the sum of its cosines, as in the score.
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
    """How far, with probability ``1 - delta``, the risk of the best classifier found is from the best there is.

    ``4 sqrt(2 T (log n + 1) / n) + sqrt(2 log(2 / delta) / n)``; above 1 it says nothing.
    """
    if tokens < 1 or pairs < 1 or not 0 < delta < 1:
        raise InputError("the bound needs at least one token and one pair, and delta between 0 and 1")
    return 4 * math.sqrt(2 * tokens * (math.log(pairs) + 1) / pairs) + math.sqrt(2 * math.log(2 / delta) / pairs)


def pairs_needed(tokens: int, risk: float, *, delta: float = 0.05) -> int:
    """The fewest pairs for which :func:`generalisation_bound` is at most ``risk``, to one in a thousand."""
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
        # Around a point just below 0, where the smallest eigenvalue of such a matrix is the nearest one.
        return float(eigsh(sparse.csc_array(matrix), k=1, sigma=-1e-6, return_eigenvectors=False)[0])
    except ArpackError:
        return float(np.linalg.eigvalsh(matrix.toarray())[0])
