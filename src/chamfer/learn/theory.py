"""The number of judged pairs that the paper's theorems require, estimated from cached minima.

The theorems are about recovering weights from scores, or classifying pairs by a threshold, not about ranking. They show
how demanding a collection is, not how many queries to judge; ``chamfer learn --curve`` measures that. The derivations,
and where they differ from the paper's, are in docs/explanation/theory.md.
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
    """``lambda_min(A)``, ``A`` the mean of ``x x^T / len(q)``; ``x`` holds the minimum of each query token."""
    largest: float
    """``R``, the largest ``|x|^2 / len(q)``: without repeated tokens, at most 1 for cosines and 4 for distances."""
    needed: float | None
    """``R log(T / delta) / (lambda_min(A) * f(epsilon))``; None if some combination of weights has no effect."""
    excess_risk: float
    """:func:`generalisation_bound` for these tokens and pairs."""


def sample_complexity(
    queries: Sequence[JudgedQuery], *, form: Form = DEFAULT_FORM, delta: float = 0.05, epsilon: float = 1.0
) -> SampleComplexity:
    """Estimate ``lambda_min(A)`` from the minima of judged queries, and the bound of Theorem 1.

    Args:
        queries: judged queries with their minima.
        form: form of the score, which is linear in ``x``: distances for ``l2``, cosines for ``cosine``.
        delta: probability that the weights are not recovered.
        epsilon: the mean over the sample is at least ``(1 - epsilon) A``. For exact scores it only has to be
            invertible, which is the limit 1; for noisy ones ``epsilon`` must be smaller.
    """
    if not 0 < delta < 1 or not 0 < epsilon <= 1:
        raise InputError(
            f"delta must be above 0 and below 1, and epsilon above 0 and at most 1, not {delta} and {epsilon}"
        )
    if not queries:
        raise InputError("an estimate needs at least one judged query")
    seen = tokens_seen(queries)
    total = sparse.csr_array((len(seen), len(seen)))
    pairs, largest = 0, 0.0
    for query in queries:
        distances = query.distances[np.isfinite(query.distances[:, 0])].astype(np.float64)
        if not len(distances):
            continue
        slots = np.searchsorted(seen, query.token_ids)
        # A token that occurs twice in a query counts with the sum of its minima, as in the score.
        spread = sparse.csr_array((np.ones(len(slots)), (np.arange(len(slots)), slots)), (len(slots), len(seen)))
        x = sparse.csr_array((distances if form == "l2" else -distances) @ spread)
        total = total + (x.T @ x) / len(slots)
        largest = max(largest, float(x.power(2).sum(axis=1).max()) / len(slots))
        pairs += len(distances)
    if not pairs:
        raise InputError("an estimate needs at least one candidate with text")
    smallest = max(_smallest_eigenvalue(total / pairs), 0.0)
    needed = None
    if smallest > 1e-12 * largest:
        needed = largest * math.log(len(seen) / delta) / (smallest * chernoff_rate(epsilon))
    risk = generalisation_bound(len(seen), pairs, delta=delta)
    return SampleComplexity(len(seen), pairs, smallest, largest, needed, risk)


def chernoff_rate(epsilon: float) -> float:
    """The exponent ``f`` of the matrix Chernoff inequality, ``epsilon + (1 - epsilon) log(1 - epsilon)``.

    The paper prints a minus sign in the middle, which would be wrong already for coin flips.

    >>> chernoff_rate(1.0), round(chernoff_rate(0.5), 3)
    (1.0, 0.153)
    """
    return epsilon + (1 - epsilon) * math.log(1 - epsilon) if epsilon < 1 else 1.0


def generalisation_bound(tokens: int, pairs: int, *, delta: float = 0.05) -> float:
    """Bound on the excess risk, with probability ``1 - delta``, of the best classifier that was found.

    ``4 sqrt(2 V log(e n / V) / n) + sqrt(2 log(2 / delta) / n)`` for ``n >= V``, where ``V = T + 1`` is the VC
    dimension of classifiers with one weight per token and one threshold; above 1 the bound is vacuous.
    """
    if tokens < 1 or pairs < 1 or not 0 < delta < 1:
        raise InputError("the bound needs at least one token and one pair, and delta between 0 and 1")
    dimension = tokens + 1
    # Sauer's lemma holds from n = V on. Below, the same number is above log(2^n), and the bound far above 1.
    labellings = dimension * (1 + math.log(max(pairs / dimension, 1)))
    return 4 * math.sqrt(2 * labellings / pairs) + math.sqrt(2 * math.log(2 / delta) / pairs)


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
