"""Documents in 8 bits: enough to tell which of them can be among the best."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels import native
from chamfer.tokens import TokenBatch

if TYPE_CHECKING:
    from chamfer.kernels import _native


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Token vectors rounded to 8 bits, and what that can cost.

    Dimension ``k`` of token ``j`` is ``(codes[j, k] - 128) * scales[j]``, up to an error whose norm is known.

    Args:
        codes: ``(tokens, dimensions)`` uint8, the last dimension padded to a multiple of 4.
        scales: ``(tokens,)`` float32.
        bounds: ``(4, documents)`` float32. Of each document's tokens the largest error divided by the scale, the
            largest error, the largest norm and the smallest.
    """

    codes: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.float32]
    bounds: npt.NDArray[np.float32]

    @classmethod
    def of(cls, documents: TokenBatch) -> Self:
        """Round the 16-bit vectors of some documents."""
        if documents.vectors.dtype != np.float16:
            raise InputError(f"codes are made of 16-bit vectors, not of {documents.vectors.dtype}")
        tokens = len(documents.vectors)
        made = cls(
            np.empty((tokens, padded(documents.dimensions)), np.uint8),
            np.empty(tokens, np.float32),
            np.empty((4, len(documents)), np.float32),
        )
        native.quantise(documents, made.codes, made.scales, made.bounds)
        return made


@dataclass(frozen=True, eq=False)
class CodedDocuments:
    """Documents whose best can be found without reading most of their vectors.

    Args:
        tokens: the documents.
        codes: their 8-bit codes. Without them, where nothing could be compiled, all vectors are read.
    """

    tokens: TokenBatch
    codes: Codes | None

    @classmethod
    def of(cls, tokens: TokenBatch) -> Self:
        """Make codes in memory, if this machine can use them.

        Vectors are kept in 16 bits, as on disk, and must not change afterwards: codes would not follow.
        """
        if not isinstance(tokens, TokenBatch):
            raise InputError(f"documents come as a TokenBatch, not as {type(tokens).__name__}")
        if tokens.vectors.dtype != np.float16 or not tokens.vectors.flags.c_contiguous:
            with np.errstate(over="ignore"):  # a value beyond 16 bits becomes infinite, which is refused
                vectors = np.ascontiguousarray(tokens.vectors, dtype=np.float16)
            tokens = TokenBatch(vectors, tokens.token_ids, tokens.offsets)
        return cls(tokens, Codes.of(tokens) if native.path() else None)

    @cached_property
    def handle(self) -> "_native.Coded":
        """What the native kernel is given: checked once, for all queries."""
        if self.codes is None:
            raise InputError("these documents have no codes")
        return native.coded(self.tokens, self.codes.codes, self.codes.scales, self.codes.bounds)

    def __getstate__(self) -> dict[str, object]:
        """A copy in another process makes a handle of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "handle"}


def padded(dimensions: int) -> int:
    """Four dimensions are multiplied at once, so codes fill whole groups of four."""
    return -(-dimensions // 4) * 4
