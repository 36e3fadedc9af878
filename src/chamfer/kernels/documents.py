"""The documents that scores are computed for, however their vectors are stored."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels import native
from chamfer.kernels.codes import Codes
from chamfer.kernels.residuals import Measured, Residuals
from chamfer.tokens.batch import Offsets, TokenBatch, offsets_of, rows_at

if TYPE_CHECKING:
    from chamfer.kernels import _native
    from chamfer.kernels.cuda.documents import DeviceDocuments


class Documents(Protocol):
    """All that :mod:`chamfer.kernels.dispatch` needs to know about documents.

    A segment of an index and an encoded corpus are documents, and so are the classes of this file and
    :class:`chamfer.kernels.cuda.documents.DeviceDocuments`. Each property offers one way to score, or None; the
    dispatcher takes the fastest on offer. Every kind can at least decode its vectors with :meth:`take`.
    """

    def __len__(self) -> int: ...

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""

    @property
    def on_device(self) -> "DeviceDocuments | None":
        """The documents on a GPU, if that is where they are scored."""

    @property
    def tokens(self) -> TokenBatch | None:
        """All vectors, in memory or memory-mapped, if they are stored uncompressed."""

    @property
    def coded(self) -> "CodedDocuments | QuantizedDocuments | ResidualDocuments | None":
        """The codes or residuals that the native kernel screens documents with, if there are any."""

    def take(self, places: npt.NDArray[np.int64], /) -> TokenBatch:
        """The vectors of some documents, decoded if necessary."""


@dataclass(frozen=True, eq=False)
class CodedDocuments:
    """Documents whose top k can be found without reading most of their 16-bit vectors.

    Args:
        tokens: the documents.
        codes: their 8-bit codes; without them every vector is read.
    """

    tokens: TokenBatch
    codes: Codes | None

    @classmethod
    def of(cls, tokens: TokenBatch) -> Self:
        """Compute the codes in memory, if the native kernel is there to use them.

        Vectors are stored in 16 bits, as on disk. Do not change them afterwards: the codes would no longer match.
        """
        if not isinstance(tokens, TokenBatch):
            raise InputError(f"documents must be a TokenBatch, not {type(tokens).__name__}")
        if tokens.vectors.dtype != np.float16 or not tokens.vectors.flags.c_contiguous:
            with np.errstate(over="ignore"):  # a value beyond 16 bits becomes infinite, which TokenBatch rejects
                vectors = np.ascontiguousarray(tokens.vectors, dtype=np.float16)
            tokens = TokenBatch(vectors, tokens.token_ids, tokens.offsets)
        return cls(tokens, Codes.of(tokens) if native.path() else None)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""
        return self.tokens.dimensions

    @property
    def on_device(self) -> None:
        """Not on a GPU."""

    @property
    def coded(self) -> Self | None:
        """These documents, if they have codes."""
        return None if self.codes is None else self

    def take(self, places: npt.NDArray[np.int64]) -> TokenBatch:
        """The vectors of some documents."""
        return self.tokens.take(places)

    @cached_property
    def handle(self) -> "_native.Coded":
        """The arrays as the native kernel takes them: validated once, for all queries."""
        if self.codes is None:
            raise InputError("these documents have no codes; make them with CodedDocuments.of(tokens)")
        return native.coded(self.tokens, self.codes.codes, self.codes.scales, self.codes.bounds)

    def __getstate__(self) -> dict[str, object]:
        """Everything but the handle, which a copy in another process makes again."""
        return {name: value for name, value in self.__dict__.items() if name != "handle"}


@dataclass(frozen=True, eq=False)
class QuantizedDocuments:
    """Documents stored as 8-bit codes alone.

    Args:
        codes: their codes, from :meth:`Codes.for_decoded_vectors`.
        offsets: ``(documents + 1,)`` where the tokens of each document start.
        dimensions: number of dimensions of a token vector.
    """

    codes: Codes
    offsets: Offsets
    dimensions: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def on_device(self) -> None:
        """Not on a GPU."""

    @property
    def tokens(self) -> None:
        """Vectors are not stored."""

    @property
    def coded(self) -> Self:
        """These documents."""
        return self

    def take(self, places: npt.NDArray[np.int64]) -> TokenBatch:
        """The decoded vectors of some documents; their token ids are not stored, and all 0."""
        vectors = self.codes.vectors(self.dimensions, rows_at(self.offsets, places))
        return TokenBatch.trusted(vectors, np.zeros(len(vectors), np.int32), offsets_of(np.diff(self.offsets)[places]))

    @cached_property
    def handle(self) -> "_native.CodesOnly":
        """The arrays as the native kernel takes them: validated once, for all queries."""
        codes = self.codes
        return native.codes_only(self.dimensions, self.offsets, codes.codes, codes.scales, codes.bounds)

    def __getstate__(self) -> dict[str, object]:
        """Everything but the handle, which a copy in another process makes again."""
        return {name: value for name, value in self.__dict__.items() if name != "handle"}


@dataclass(frozen=True, eq=False)
class ResidualDocuments:
    """Documents stored as residuals: the nearest centroid of each token, and the difference from it.

    Args:
        residuals: the levels of residuals.
        packed: ``(tokens, dimensions * bits / 8)`` codes of residuals.
        centroids: ``(centroids, dimensions)`` float32.
        chosen: ``(tokens,)`` the centroid of each token.
        offsets: ``(documents + 1,)`` where the tokens of each document start.
        measured: what was measured of the same residuals.
    """

    residuals: Residuals
    packed: npt.NDArray[np.uint8]
    centroids: npt.NDArray[np.float32]
    chosen: npt.NDArray[np.uint16]
    offsets: Offsets
    measured: Measured

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""
        return len(self.residuals.spread)

    @property
    def on_device(self) -> None:
        """Not on a GPU."""

    @property
    def tokens(self) -> None:
        """Vectors are not stored."""

    @property
    def coded(self) -> Self:
        """These documents."""
        return self

    def take(self, places: npt.NDArray[np.int64]) -> TokenBatch:
        """The decoded vectors of some documents; their token ids are not stored, and all 0."""
        vectors = self.residuals.decode(self.packed, self.centroids, self.chosen, rows_at(self.offsets, places))
        return TokenBatch.trusted(vectors, np.zeros(len(vectors), np.int32), offsets_of(np.diff(self.offsets)[places]))

    @cached_property
    def handle(self) -> "_native.ResidualsOnly":
        """The arrays as the native kernel takes them: validated once, for all queries."""
        levels, spread, measured = self.residuals.levels, self.residuals.spread, self.measured
        return native.residuals_only(
            self.offsets, self.packed, levels, spread, self.centroids, self.chosen, measured.factors, measured.bounds
        )

    def __getstate__(self) -> dict[str, object]:
        """Everything but the handle, which a copy in another process makes again."""
        return {name: value for name, value in self.__dict__.items() if name != "handle"}
