"""Fewer dimensions: those along which the token vectors of a corpus vary most."""

import numpy as np
import numpy.typing as npt

from chamfer.tokens.batch import Vectors


def fit_projection(vectors: Vectors, dimensions: int) -> npt.NDArray[np.float32]:
    """``(all, dimensions)`` orthonormal directions, by principal components around the origin.

    The mean is not subtracted: products of vectors, of which scores are made, are then kept as well as they can be.
    """
    values = vectors.astype(np.float32, copy=False)
    _, directions = np.linalg.eigh((values.T @ values).astype(np.float64))
    return np.ascontiguousarray(directions[:, ::-1][:, :dimensions], dtype=np.float32)


def projected(vectors: Vectors, directions: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Project vectors and give them unit length again; a query and documents must be projected alike."""
    fewer: npt.NDArray[np.float32] = vectors.astype(np.float32, copy=False) @ directions
    fewer /= np.maximum(np.linalg.norm(fewer, axis=1, keepdims=True), 1e-12)
    return fewer
