"""Vectors and queries in the memory of a GPU, as its programs read them."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from chamfer.tokens.batch import TokenBatch

Precision = Literal["float32", "float16", "bfloat16", "int8", "fp8"]
KINDS = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int8": torch.int8,
    "fp8": torch.float8_e4m3fn,
}
# The largest number of the precisions that keep a scale for each vector.
LARGEST = {"int8": 127.0, "fp8": 448.0}

# Vectors that are rounded at a time, so that 32-bit copies of all of them need not fit.
ROUNDED = 1 << 20
# Numbers of a query's vectors that stay beside a processor, with room for those of documents.
STAYING = 1 << 15
# Where an array begins in memory, so that several numbers are read at once.
ALIGNED = 256
# The least rows that a matrix product has.
ROWS = 16


class Packed(NamedTuple):
    """Token vectors on a GPU in one precision.

    Args:
        vectors: ``(tokens, dimensions)``.
        factors: ``(tokens,)`` float32: the square of each vector's length, or its scale in a precision that has one.
        precision: of the vectors.
        unit: whether all have length 1, so that squares need not be read.
    """

    vectors: torch.Tensor
    factors: torch.Tensor
    precision: Precision
    unit: bool

    @classmethod
    def empty(cls, tokens: int, dimensions: int, precision: Precision, device: torch.device) -> Self:
        """Room for so many vectors."""
        vectors = torch.empty((tokens, dimensions), dtype=KINDS[precision], device=device)
        return cls(vectors, torch.empty(tokens, dtype=torch.float32, device=device), precision, unit=False)

    @classmethod
    def of(cls, vectors: torch.Tensor, precision: Precision, *, unit: bool) -> Self:
        """Round vectors that are on the GPU already."""
        made = cls.empty(len(vectors), vectors.shape[1], precision, vectors.device)
        made.fill(0, vectors)
        return made._replace(unit=unit)

    def fill(self, start: int, vectors: torch.Tensor) -> None:
        """Round some vectors and put them at their place."""
        for first in range(0, len(vectors), ROUNDED):
            wide = vectors[first : first + ROUNDED].float()
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


class Asked:
    """Queries on a GPU, filled up to one length with rows of weight 0.

    A query that is too long to stay beside a processor is cut into pieces of ``rows`` tokens, which are scored like
    queries of their own and added up.
    """

    def __init__(self, queries: TokenBatch, weights: npt.NDArray[np.float32], device: torch.device) -> None:
        self.rows, self.pieces = rows_and_pieces(int(queries.lengths.max()), queries.dimensions)
        self.queries, self.dimensions = len(queries), queries.dimensions
        padded = np.zeros((self.queries, self.pieces * self.rows, queries.dimensions), np.float32)
        own = np.zeros(padded.shape[:2], np.float32)
        query = np.repeat(np.arange(self.queries), queries.lengths)
        within = np.arange(len(queries.vectors)) - np.repeat(queries.offsets[:-1], queries.lengths)
        padded[query, within] = queries.vectors
        own[query, within] = weights
        rows = padded.reshape(-1, queries.dimensions)
        squares = np.einsum("td,td->t", rows, rows)
        self.vectors, self.squares, self.weights, self.lengths = send(
            [rows, squares, own.ravel(), queries.lengths.astype(np.int32)], device
        )
        self._packed: dict[Precision, Packed] = {}

    @property
    def filled(self) -> int:
        """The length that all queries are filled up to."""
        return self.pieces * self.rows

    def packed(self, precision: Precision) -> Packed:
        """Their vectors as a program multiplies them with documents of that precision."""
        if precision not in self._packed:
            self._packed[precision] = Packed.of(self.vectors, precision, unit=False)
        return self._packed[precision]


def rows_and_pieces(longest: int, dimensions: int) -> tuple[int, int]:
    """How many tokens a piece of a query has, and how many pieces the longest query is cut into."""
    rows = min(power_of_two(longest, ROWS), max(ROWS, STAYING // power_of_two(dimensions, 32)))
    return rows, -(-longest // rows)


def send(arrays: Sequence[npt.NDArray[Any]], device: torch.device) -> list[torch.Tensor]:
    """The same arrays on a GPU, in one copy: several small ones would take as many times as long."""
    ends = np.cumsum([-(-array.nbytes // ALIGNED) * ALIGNED for array in arrays])
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
    """The power of two that a number fits in."""
    return max(least, 1 << (number - 1).bit_length())
