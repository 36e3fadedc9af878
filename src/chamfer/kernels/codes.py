"""Token vectors in 8 bits: enough to tell which documents can be in the top k."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels import native
from chamfer.kernels.limits import CODE_ERROR, CODE_GROUP
from chamfer.tokens.batch import TokenBatch


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Token vectors quantized to 8 bits, with error bounds.

    Dimension ``k`` of token ``j`` is ``(codes[j, k] - 128) * scales[j]``, up to an error whose norm is bounded.

    Args:
        codes: ``(tokens, padded dimensions)`` uint8, see :func:`padded`.
        scales: ``(tokens,)`` float32.
        bounds: ``(4, documents)`` float32: over the tokens of each document, the largest error divided by the scale,
            the largest error, the largest norm and the smallest norm.
    """

    codes: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.float32]
    bounds: npt.NDArray[np.float32]

    @classmethod
    def of(cls, documents: TokenBatch) -> Self:
        """Quantize the 16-bit vectors of some documents."""
        if documents.vectors.dtype != np.float16:
            raise InputError(f"codes are made from 16-bit vectors, not from {documents.vectors.dtype}")
        tokens = len(documents.vectors)
        if native.path() is None:
            return cls._of_vectors(documents)
        made = cls(
            np.empty((tokens, padded(documents.dimensions)), np.uint8),
            np.empty(tokens, np.float32),
            np.empty((4, len(documents)), np.float32),
        )
        native.quantize(documents, made.codes, made.scales, made.bounds)
        return made

    @classmethod
    def _of_vectors(cls, documents: TokenBatch) -> Self:
        """Quantize without the native kernel."""
        vectors = documents.vectors.astype(np.float32)
        scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
        codes = np.full((len(vectors), padded(documents.dimensions)), 128, np.uint8)
        rounded = np.rint(vectors / np.where(scales > 0, scales, 1)[:, None])
        codes[:, : documents.dimensions] = (rounded + 128).astype(np.uint8)  # casting a negative number is undefined
        return cls(codes, scales, _bounds(codes, scales, documents))

    def vectors(self, dimensions: int, rows: npt.NDArray[np.int64] | slice = slice(None)) -> npt.NDArray[np.float16]:
        """``(rows, dimensions)`` decoded 16-bit vectors of some tokens."""
        if native.path():
            chosen = np.arange(len(self.codes))[rows] if isinstance(rows, slice) else rows
            return native.decode_codes(self.codes, self.scales, dimensions, chosen)
        decoded = self.codes[rows, :dimensions].astype(np.float32)
        decoded -= 128
        decoded *= self.scales[rows][:, None]
        return decoded.astype(np.float16)

    def for_decoded_vectors(self, documents: TokenBatch) -> Self:
        """The same codes with bounds on :meth:`vectors`, for documents that are stored as codes alone."""
        centred = self.codes[:, : documents.dimensions].astype(np.float32)
        centred -= 128
        norms = self.scales * np.sqrt(np.einsum("td,td->t", centred, centred)).astype(np.float64)
        # Rounding to 16 bits is off by up to 2^-11 of a number, or 2^-25; long 32-bit sums of squares are off as well.
        lost = norms * (2**-11 + 1e-6 + documents.dimensions * 2**-24) + documents.dimensions**0.5 * 2**-25
        return type(self)(self.codes, self.scales, _largest(lost, norms + lost, norms - lost, self.scales, documents))


def _bounds(
    codes: npt.NDArray[np.uint8], scales: npt.NDArray[np.float32], documents: TokenBatch
) -> npt.NDArray[np.float32]:
    vectors = documents.vectors.astype(np.float64)
    lost = vectors - (codes[:, : documents.dimensions].astype(np.float64) - 128) * scales[:, None]
    norms = np.linalg.norm(vectors, axis=1)
    errors = np.linalg.norm(lost, axis=1) + CODE_ERROR * norms
    return _largest(errors, norms, norms, scales, documents)


def _largest(
    errors: npt.NDArray[np.float64],
    longest: npt.NDArray[np.float64],
    shortest: npt.NDArray[np.float64],
    scales: npt.NDArray[np.float32],
    documents: TokenBatch,
) -> npt.NDArray[np.float32]:
    """The bounds of each document from those of its tokens, rounded outwards so that they hold."""
    relative = np.divide(errors, scales, out=np.zeros_like(errors), where=scales > 0)
    bounds = np.zeros((4, len(documents)), np.float32)
    filled = np.flatnonzero(documents.lengths)
    starts = documents.offsets[filled]
    if len(filled):
        for row, values in enumerate((relative, errors, longest)):
            most = np.maximum.reduceat(values, starts).astype(np.float32)
            bounds[row, filled] = np.nextafter(most, np.float32(np.inf))
        least = np.maximum(np.minimum.reduceat(shortest, starts), 0).astype(np.float32)
        bounds[3, filled] = np.nextafter(least, np.float32(0))
    return bounds


def padded(dimensions: int) -> int:
    """Number of dimensions that codes are padded to."""
    return -(-dimensions // CODE_GROUP) * CODE_GROUP
