"""Weights folded into the query vectors, for engines whose MaxSim has no weights."""

import numpy as np
import numpy.typing as npt

from chamfer.kernels.checks import checked_weights
from chamfer.tokens.batch import TokenBatch


def fold(queries: TokenBatch, weights: npt.NDArray[np.float32]) -> TokenBatch:
    """Scale query vectors by their weights, so that plain MaxSim computes the weighted score in the ``cosine`` form.

    ``sum_i max_j <w_i q_i, d_j> = sum_i w_i max_j <q_i, d_j>`` for ``w >= 0``. Divided by the original number of query
    tokens, that is our score. The ``l2`` form cannot be folded: its square root is inside the sum.

    Tokens of weight 0 add nothing to any score, but cost an engine as much as any other, so they are dropped. A query
    without any weight keeps no tokens. This is not an error, so that one such query does not stop a batch: every
    document scores 0 for it, and there is nothing to ask an engine for.

    The weight becomes the norm of a vector. Anything that normalises vectors again, such as a store with a cosine
    metric, silently turns the weights back into uniform ones.

    Args:
        queries: one or more queries of unit vectors.
        weights: ``(query tokens,)`` of all queries, none negative.

    Returns:
        The same number of queries, in 32 bits.

    >>> query = TokenBatch.pack([np.eye(3, dtype=np.float32)], [[7, 8, 9]])
    >>> folded = fold(query, np.array([2, 0, 0.5], np.float32))
    >>> folded.vectors.tolist(), folded.token_ids.tolist()
    ([[2.0, 0.0, 0.0], [0.0, 0.0, 0.5]], [7, 9])
    """
    weights = checked_weights(weights, len(queries.vectors))
    kept = weights > 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])  # number of kept tokens before each token
    return TokenBatch(
        queries.vectors[kept].astype(np.float32) * weights[kept, None],
        queries.token_ids[kept],
        before[queries.offsets],
    )
