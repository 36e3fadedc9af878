"""Vectors and queries in GPU memory, as the kernels read them."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.tokens.batch import TokenBatch

Precision = Literal["float32", "float16", "bfloat16", "int8", "fp8"]
KINDS = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int8": torch.int8,
    "fp8": torch.float8_e4m3fn,
}
# The largest number in each precision that stores a scale per vector.
LARGEST = {"int8": 127.0, "fp8": 448.0}

# Vectors converted at a time, so that 32-bit copies of all of them need not fit in memory.
CONVERTED = 1 << 20
# Numbers of a query that fit in the on-chip memory of a multiprocessor, together with those of documents.
QUERY_NUMBERS = 1 << 15
# Alignment of arrays in bytes, so that several numbers are loaded at once.
ALIGNMENT = 256
# The smallest number of rows in a matrix product.
ROWS = 16


class Packed(NamedTuple):
    """Token vectors on a GPU in one precision.

    Args:
        vectors: ``(tokens, dimensions)``.
        factors: ``(tokens,)`` float32: the squared norm of each vector, or its scale in a precision that has one.
        precision: how the vectors are stored.
        unit: whether all vectors have norm 1, so that squared norms need not be read.
    """

    vectors: torch.Tensor
    factors: torch.Tensor
    precision: Precision
    unit: bool

    @classmethod
    def empty(cls, tokens: int, dimensions: int, precision: Precision, device: torch.device) -> Self:
        """Allocate memory for vectors."""
        vectors = torch.empty((tokens, dimensions), dtype=KINDS[precision], device=device)
        return cls(vectors, torch.empty(tokens, dtype=torch.float32, device=device), precision, unit=False)

    @classmethod
    def of(cls, vectors: torch.Tensor, precision: Precision, *, unit: bool) -> Self:
        """Convert vectors that are on the GPU already."""
        made = cls.empty(len(vectors), vectors.shape[1], precision, vectors.device)
        made.fill(0, vectors)
        return made._replace(unit=unit)

    def fill(self, start: int, vectors: torch.Tensor) -> None:
        """Convert some vectors and store them from row ``start`` on."""
        for first in range(0, len(vectors), CONVERTED):
            wide = vectors[first : first + CONVERTED].float()
            place = slice(start + first, start + first + len(wide))
            if self.precision in LARGEST:
                largest = LARGEST[self.precision]
                self.factors[place] = wide.abs().amax(dim=1).clamp(min=1e-30) / largest
                wide = wide / self.factors[place, None]
                wide = wide.round() if self.precision == "int8" else wide.clamp(-largest, largest)
            else:
                wide = wide.to(KINDS[self.precision])
                self.factors[place] = wide.float().square().sum(dim=1)
            self.vectors[place] = wide.to(KINDS[self.precision])


class DeviceQueries:
    """Queries on a GPU with their weights and the form of their scores, padded to one length with rows of weight 0.

    A query that is too long for the on-chip memory of a multiprocessor is split into pieces of ``rows`` tokens, which
    are scored like queries; their scores are then added up.
    """

    def __init__(
        self, queries: TokenBatch, weights: npt.NDArray[np.float32], device: torch.device, form: Form = DEFAULT_FORM
    ) -> None:
        self.form = form
        self.rows, self.pieces = rows_and_pieces(int(queries.lengths.max()), queries.dimensions)
        self.count, self.dimensions = len(queries), queries.dimensions
        padded = np.zeros((self.count, self.pieces * self.rows, queries.dimensions), np.float32)
        own = np.zeros(padded.shape[:2], np.float32)
        query = np.repeat(np.arange(self.count), queries.lengths)
        within = np.arange(len(queries.vectors)) - np.repeat(queries.offsets[:-1], queries.lengths)
        padded[query, within] = queries.vectors
        own[query, within] = weights
        rows = padded.reshape(-1, queries.dimensions)
        squares = np.einsum("td,td->t", rows, rows)
        self.vectors, self.squares, self.weights, self.lengths = to_device(
            [rows, squares, own.ravel(), queries.lengths.astype(np.int32)], device
        )
        self._packed: dict[Precision, Packed] = {}

    @property
    def padded_length(self) -> int:
        """The length that all queries are padded to."""
        return self.pieces * self.rows

    def packed(self, precision: Precision) -> Packed:
        """Their vectors, ready to multiply by documents of that precision."""
        if precision not in self._packed:
            self._packed[precision] = Packed.of(self.vectors, precision, unit=False)
        return self._packed[precision]


def rows_and_pieces(longest: int, dimensions: int) -> tuple[int, int]:
    """Number of tokens in a piece of a query, and number of pieces of the longest query."""
    rows = min(power_of_two(longest, ROWS), max(ROWS, QUERY_NUMBERS // power_of_two(dimensions, 32)))
    return rows, -(-longest // rows)


def to_device(arrays: Sequence[npt.NDArray[Any]], device: torch.device) -> list[torch.Tensor]:
    """Copy arrays to a GPU in one transfer, because every small transfer takes about as long."""
    ends = np.cumsum([-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays])
    packed = np.empty(int(ends[-1]), np.uint8)
    for array, start in zip(arrays, [0, *ends], strict=False):
        packed[start : start + array.nbytes] = np.ascontiguousarray(array).view(np.uint8).ravel()
    there = torch.from_numpy(packed).to(device)
    kinds = [torch.from_numpy(np.empty(0, array.dtype)).dtype for array in arrays]
    return [
        there[start : start + array.nbytes].view(kind).view(array.shape)
        for array, kind, start in zip(arrays, kinds, [0, *ends], strict=False)
    ]


def power_of_two(number: int, least: int = 1) -> int:
    """The smallest power of two that is at least ``number`` and ``least``."""
    return max(least, 1 << (number - 1).bit_length())
