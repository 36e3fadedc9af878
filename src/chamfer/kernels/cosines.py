"""Cosines of many unit vectors and one: evidence of what texts are about as a whole."""

import numpy as np
import numpy.typing as npt

from chamfer.kernels import native

Floats = npt.NDArray[np.float32]

# Rows that are widened at a time, so that a large index needs no second copy of its mean vectors.
PORTION = 1 << 14


def cosines(means: npt.NDArray[np.floating], query: Floats) -> Floats:
    """``(texts,)`` the cosine of each mean vector and that of a query; 0 for a text or a query without tokens.

    Args:
        means: ``(texts, dimensions)`` of unit length, or zeros.
        query: ``(dimensions,)`` likewise.

    >>> cosines(np.eye(2, dtype=np.float16), np.array([1, 0], np.float32)).tolist()
    [1.0, 0.0]
    """
    if means.dtype == np.float16 and native.path():
        return native.dots(means, query)
    found = np.empty(len(means), np.float32)
    for start in range(0, len(means), PORTION):
        part = slice(start, start + PORTION)
        # Not BLAS, whose rounding depends on the number of rows: equal texts must score alike in every batch.
        np.einsum("td,d->t", means[part].astype(np.float32), query, out=found[part])
    return found
