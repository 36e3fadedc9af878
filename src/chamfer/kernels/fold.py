"""Weights inside the query: for every engine that computes MaxSim by dot products, and knows no weights."""

import numpy as np
import numpy.typing as npt

from chamfer.kernels.checks import checked_weights
from chamfer.tokens.batch import TokenBatch


def fold(queries: TokenBatch, weights: npt.NDArray[np.float32]) -> TokenBatch:
    """Give queries whose plain MaxSim is the weighted MaxSim of the given ones, in the ``cosine`` form.

    ``sum_i max_j <w_i q_i, d_j> = sum_i w_i max_j <q_i, d_j>`` for ``w >= 0``. Divided by the number of tokens that
    the query had before, that is our score. The ``l2`` form cannot be folded: its root is inside the sum.

    A token of weight 0 adds nothing to any document, so it is left out: an engine would spend as much on it as on
    every other. A query without any weight keeps no token. That is no error here, so that one such query does not stop
    a batch: every document scores 0 for it, and there is nothing to ask an engine for.

    The weight is now the length of a vector. Whatever normalises vectors again, as a store with a cosine metric does,
    gives uniform weights, and no error.

    Args:
        queries: one or more, of unit vectors.
        weights: ``(query tokens,)`` of all queries, none negative.

    Returns:
        as many queries, in 32 bits.

    >>> query = TokenBatch.pack([np.eye(3, dtype=np.float32)], [[7, 8, 9]])
    >>> folded = fold(query, np.array([2, 0, 0.5], np.float32))
    >>> folded.vectors.tolist(), folded.token_ids.tolist()
    ([[2.0, 0.0, 0.0], [0.0, 0.0, 0.5]], [7, 9])
    """
    weights = checked_weights(weights, len(queries.vectors))
    kept = weights > 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])  # tokens that are kept before each
    return TokenBatch(
        queries.vectors[kept].astype(np.float32) * weights[kept, None],
        queries.token_ids[kept],
        before[queries.offsets],
    )
