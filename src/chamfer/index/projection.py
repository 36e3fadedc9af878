"""Projection of token vectors to fewer dimensions."""

import numpy as np
import numpy.typing as npt

from chamfer.tokens.batch import Vectors


def fit_projection(vectors: Vectors, dimensions: int) -> npt.NDArray[np.float32]:
    """``(all, dimensions)`` the principal directions of the vectors, orthonormal.

    The mean is not subtracted, because that preserves dot products best, and scores are made of those.
    """
    values = vectors.astype(np.float32, copy=False)
    _, directions = np.linalg.eigh((values.T @ values).astype(np.float64))
    return np.ascontiguousarray(directions[:, ::-1][:, :dimensions], dtype=np.float32)


def projected(vectors: Vectors, directions: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Project vectors and normalise them; queries and documents must be projected alike."""
    fewer: npt.NDArray[np.float32] = vectors.astype(np.float32, copy=False) @ directions
    fewer /= np.maximum(np.linalg.norm(fewer, axis=1, keepdims=True), 1e-12)
    return fewer
