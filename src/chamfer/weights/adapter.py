"""A low-rank map of query vectors: the encoder and the documents stay as they are, and queries move towards them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.tokens.batch import Vectors

MOST_RANK = 512
"""Highest rank of an adapter."""

LARGEST_ENTRY = 1e4
"""Largest entry of its matrices: with larger ones, squares of lengths could overflow 32 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Adapter:
    """Moves query vectors: ``q' = normalise(q + (q @ down) @ up)``.

    Args:
        down: ``(dimensions, rank)`` float32.
        up: ``(rank, dimensions)`` float32.

    >>> turn = Adapter(np.array([[1], [0]], np.float32), np.array([[-1, 1]], np.float32))
    >>> turn.adapted(np.eye(2, dtype=np.float32)).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    down: npt.NDArray[np.float32]
    up: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.down.ndim != 2 or self.down.shape != self.up.shape[::-1] or not 1 <= self.rank <= MOST_RANK:
            raise InputError(
                f"an adapter is two matrices of shapes (dimensions, rank) and (rank, dimensions) with a rank from 1 to "
                f"{MOST_RANK}, not {self.down.shape} and {self.up.shape}"
            )
        for matrix in (self.down, self.up):
            if matrix.dtype != np.float32 or not (np.abs(matrix) <= LARGEST_ENTRY).all():
                raise InputError(f"the matrices of an adapter must hold float32 numbers up to {LARGEST_ENTRY:g}")

    def __repr__(self) -> str:
        return f"Adapter(dimensions={self.dimensions}, rank={self.rank})"

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self.down.shape[0])

    @property
    def rank(self) -> int:
        """Rank of the map."""
        return int(self.down.shape[1])

    def adapted(self, vectors: Vectors) -> npt.NDArray[np.float32]:
        """``(tokens, dimensions)`` the vectors after the map, of unit length."""
        if vectors.shape[1] != self.dimensions:
            raise InputError(
                f"this adapter was learnt for vectors of {self.dimensions} dimensions, not {vectors.shape[1]}; "
                "encode with the model that it was learnt for"
            )
        before = vectors.astype(np.float32)
        moved = before + (before @ self.down) @ self.up
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        # A vector that the map cancels has no direction left; it stays where it was.
        return np.where(lengths > 1e-6, moved / np.maximum(lengths, 1e-6), before).astype(np.float32)
