"""Residuals: the difference between a vector and its centroid, in 4 or 2 bits per dimension."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.kernels import native
from chamfer.kernels.limits import RESIDUAL_BOUNDS, SMALLEST_NORM
from chamfer.tokens.batch import Offsets

# Iterations of k-means.
ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Residuals:
    """The levels that residuals are quantized to: ``spread[k] * levels[code]`` in dimension ``k``.

    Args:
        levels: ``(4,)`` or ``(16,)`` float32, ascending.
        spread: ``(dimensions,)`` float32, the standard deviation of residuals in each dimension.
    """

    levels: npt.NDArray[np.float32]
    spread: npt.NDArray[np.float32]

    @property
    def bits(self) -> int:
        """Bits per dimension."""
        return len(self.levels).bit_length() - 1

    def encode(self, residuals: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
        """``(vectors, dimensions * bits / 8)`` bytes; the first dimension takes the lowest bits."""
        between = (self.levels[1:] + self.levels[:-1]) / 2
        codes = np.searchsorted(between, residuals / self.spread).astype(np.uint8)
        per_byte = 8 // self.bits
        packed = np.zeros((len(codes), codes.shape[1] // per_byte), np.uint8)
        for place in range(per_byte):
            packed |= codes[:, place::per_byte] << np.uint8(place * self.bits)
        return packed

    def decode(
        self,
        packed: npt.NDArray[np.uint8],
        centroids: npt.NDArray[np.float32],
        chosen: npt.NDArray[np.uint16],
        rows: npt.NDArray[np.int64] | slice = slice(None),
    ) -> npt.NDArray[np.float16]:
        """``(rows, dimensions)`` vectors of unit length.

        Args:
            packed: codes of all vectors.
            centroids: all centroids.
            chosen: the centroid of each vector.
            rows: the vectors to decode.
        """
        if native.path():
            wanted = np.arange(len(packed))[rows] if isinstance(rows, slice) else rows
            return native.decode_residuals(packed, self.levels, self.spread, centroids, chosen, wanted)
        some = packed[rows]
        vectors = self._of_byte[some].reshape(len(some), len(self.spread))
        vectors *= self.spread
        vectors += centroids[chosen[rows]]
        norms = np.sqrt(np.einsum("td,td->t", vectors, vectors))
        vectors /= np.maximum(norms, SMALLEST_NORM)[:, None]
        return vectors.astype(np.float16)

    @cached_property
    def _of_byte(self) -> npt.NDArray[np.float32]:
        """``(256, dimensions per byte)`` the levels that each byte stands for."""
        shifts = np.arange(0, 8, self.bits)
        levels: npt.NDArray[np.float32] = self.levels[(np.arange(256)[:, None] >> shifts) & (len(self.levels) - 1)]
        return levels


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What the native kernel knows of residuals before it decodes any; it alone computes and uses this.

    Args:
        factors: ``(tokens,)`` float16; a decoded vector is nearly the sum of its centroid and residual times this.
        bounds: ``(5, documents)`` float32: over the tokens of each document, the largest error of that if levels are
            rounded to 8 bits, the largest error if they are not, the largest norm of a rounded residual in units of
            its spread, and the largest and smallest norm of a decoded vector.
    """

    factors: npt.NDArray[np.float16]
    bounds: npt.NDArray[np.float32]

    @classmethod
    def of(
        cls,
        residuals: Residuals,
        packed: npt.NDArray[np.uint8],
        centroids: npt.NDArray[np.float32],
        chosen: npt.NDArray[np.uint16],
        offsets: Offsets,
    ) -> Self:
        """Measure all residuals of some documents; see :meth:`Residuals.decode`."""
        made = cls(np.empty(len(packed), np.float16), np.empty((RESIDUAL_BOUNDS, len(offsets) - 1), np.float32))
        native.measure_residuals(
            packed, residuals.levels, residuals.spread, centroids, chosen, offsets, made.factors, made.bounds
        )
        return made


def train_residuals(residuals: npt.NDArray[np.float32], bits: int) -> Residuals:
    """Choose the levels with the least error on some residuals: one-dimensional k-means, starting from quantiles."""
    spread = np.maximum(residuals.std(axis=0), 1e-6).astype(np.float32)
    values = np.sort((residuals / spread).ravel())
    values = values[:: max(1, len(values) // 2**20)]
    count = 2**bits
    levels = np.quantile(values, (np.arange(count) + 0.5) / count)
    for _ in range(ROUNDS):
        ends = np.searchsorted(values, (levels[1:] + levels[:-1]) / 2)
        parts = np.split(values, ends)
        levels = np.array([part.mean() if len(part) else level for part, level in zip(parts, levels, strict=True)])
    return Residuals(levels.astype(np.float32), spread)
