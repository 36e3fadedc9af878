"""One vector per text: the mean of its token vectors."""

import numpy as np
import numpy.typing as npt

from chamfer.tokens.batch import TokenBatch

# Rows up to which a loop is used: the vectors of a few queries, for which importing SciPy would take a hundred times as
# long as their sum.
FEW_ROWS = 1024

Floats = npt.NDArray[np.float32]


def mean_vectors(batch: TokenBatch, weights: Floats | None = None) -> Floats:
    """``(texts, dimensions)`` the weighted mean of the token vectors of each text, normalised to unit length.

    A text without tokens, or with weights that are all 0, becomes zeros.

    >>> batch = TokenBatch.pack([np.eye(2), np.empty((0, 2))], [[0, 0], []])
    >>> print(mean_vectors(batch).round(2))
    [[0.71 0.71]
     [0.   0.  ]]
    >>> mean_vectors(batch, np.array([2, 0], np.float32)).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    factors = np.ones(len(batch.vectors), np.float32) if weights is None else weights.astype(np.float32)
    texts = np.repeat(np.arange(len(batch)), batch.lengths)
    means = summed(batch.vectors.astype(np.float32), factors, texts, len(batch))
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    np.divide(means, lengths, out=means, where=lengths > 0)
    return means


def summed(rows: Floats, factors: Floats, owners: npt.NDArray[np.int64], count: int) -> Floats:
    """``(count, size)`` the weighted sum of the rows of each owner.

    >>> summed(np.eye(3, dtype=np.float32), np.ones(3, np.float32), np.array([1, 1, 0]), 2).tolist()
    [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    if len(rows) <= FEW_ROWS:
        sums = np.zeros((count, rows.shape[1]), np.float32)
        for owner, row in zip(owners.tolist(), rows * factors[:, None], strict=True):
            sums[owner] += row
        return sums
    from scipy.sparse import csc_matrix

    # A sparse matrix with one entry per column sums rows without sorting them, ten times as fast as `np.add.at`.
    matrix = csc_matrix((factors, owners, np.arange(len(rows) + 1)), shape=(count, len(rows)))
    return np.asarray(matrix @ rows)
