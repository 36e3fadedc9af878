"""Token vectors of many texts, packed without padding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError

Vectors = npt.NDArray[np.floating]
TokenIds = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]

# Tokens to process at a time where all vectors would not fit in memory: 100 MB with 384 dimensions in float32.
AT_A_TIME = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """The token vectors of several texts, concatenated.

    Text ``i`` owns rows ``offsets[i]:offsets[i + 1]`` of ``vectors`` and ``token_ids``. A text may own no rows.
    ``len(batch)`` is the number of texts, and a slice of a batch is a view.

    Args:
        vectors: ``(tokens, dimensions)`` float16 or float32, all finite.
        token_ids: ``(tokens,)`` int32, the vocabulary id of each vector.
        offsets: ``(texts + 1,)`` int64, from 0 to ``tokens``, in ascending order.

    >>> batch = TokenBatch.pack([np.eye(2, 3), np.ones((1, 3))], [[7, 8], [9]])
    >>> len(batch), batch.dimensions, batch.lengths.tolist()
    (2, 3, [2, 1])
    >>> batch[1].token_ids.tolist()
    [9]
    """

    vectors: Vectors
    token_ids: TokenIds
    offsets: Offsets

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.vectors.dtype not in (np.float16, np.float32):
            raise InputError(
                f"token vectors must be a (tokens, dimensions) array of float16 or float32, "
                f"not {self.vectors.dtype} of shape {self.vectors.shape}"
            )
        tokens = len(self.vectors)
        if self.token_ids.shape != (tokens,) or self.token_ids.dtype != np.int32:
            raise InputError(
                f"expected {tokens} int32 token ids, one per token vector, "
                f"got {self.token_ids.dtype} of shape {self.token_ids.shape}"
            )
        offsets = self.offsets
        if (
            offsets.dtype.kind not in "iu"
            or offsets.ndim != 1
            or len(offsets) == 0
            or offsets[0] != 0
            or offsets[-1] != tokens
        ):
            raise InputError(f"offsets must be whole numbers that run from 0 to {tokens}, the number of token vectors")
        if np.any(np.diff(offsets) < 0):
            raise InputError("offsets must be in ascending order, because texts must not overlap")
        # A memory-mapped corpus was checked when it was written; a second check would read all of it.
        if not isinstance(self.vectors, np.memmap) and not np.isfinite(self.vectors).all():
            raise InputError("token vectors contain NaN or infinity; the model or its input is broken")

    @classmethod
    def pack(cls, vectors: Sequence[Vectors], token_ids: Sequence[Sequence[int] | TokenIds]) -> Self:
        """Concatenate one ``(tokens, dimensions)`` array per text.

        Args:
            vectors: vectors of each text, all with the same number of dimensions.
            token_ids: token ids of each text, as many as it has vectors.
        """
        if [len(array) for array in vectors] != [len(array) for array in token_ids]:
            raise InputError("every text needs one token id per vector")
        widths = sorted({array.shape[-1] for array in vectors})
        if len(widths) != 1:
            raise InputError(f"texts have vectors of {widths or 'no'} dimensions; encode all of them with one model")
        lengths = [len(array) for array in vectors]
        ids = [np.asarray(array, dtype=np.int32) for array in token_ids]
        kind = np.float16 if all(array.dtype == np.float16 for array in vectors) else np.float32
        return cls(
            vectors=np.concatenate(vectors).astype(kind, copy=False),
            token_ids=np.concatenate(ids),
            offsets=offsets_of(lengths),
        )

    @classmethod
    def empty(cls, dimensions: int) -> Self:
        """A batch of no texts."""
        return cls(np.empty((0, dimensions), np.float32), np.empty(0, np.int32), np.zeros(1, np.int64))

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""
        return int(self.vectors.shape[1])

    @property
    def lengths(self) -> Offsets:
        """``(texts,)`` number of tokens of each text."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: SupportsIndex | slice) -> Self:
        """A view of consecutive texts; ``batch[3]`` is a batch of one text."""
        if not isinstance(index, slice):
            place = range(len(self))[index]
            index = slice(place, place + 1)
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise InputError("a batch can only be sliced with step 1; use take() for any other selection")
        stop = max(start, stop)
        rows = slice(self.offsets[start], self.offsets[stop])
        return self.trusted(
            self.vectors[rows], self.token_ids[rows], self.offsets[start : stop + 1] - self.offsets[start]
        )

    def take(self, texts: Sequence[int] | npt.NDArray[np.integer]) -> Self:
        """A copy of the given texts, in the given order."""
        chosen = np.asarray(texts, dtype=np.int64)
        rows = self.rows(chosen)
        return self.trusted(np.asarray(self.vectors[rows]), self.token_ids[rows], offsets_of(self.lengths[chosen]))

    def rows(self, texts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Internal: row numbers of the tokens of the given texts, in the given order."""
        return rows_at(self.offsets, texts)

    @classmethod
    def trusted(cls, vectors: Vectors, token_ids: TokenIds, offsets: Offsets) -> Self:
        """Internal: a batch from parts of one that is already checked; nothing is checked again."""
        part = object.__new__(cls)
        object.__setattr__(part, "vectors", vectors)
        object.__setattr__(part, "token_ids", token_ids)
        object.__setattr__(part, "offsets", offsets)
        return part


def offsets_of(lengths: Sequence[int] | npt.NDArray[np.integer]) -> Offsets:
    """Offsets of texts with the given lengths.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def rows_at(offsets: Offsets, texts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Row numbers of the tokens of the given texts, in the given order.

    >>> rows_at(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    starts = offsets[texts]
    return rows_of(starts, offsets[texts + 1] - starts)


def rows_of(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Row numbers of texts that start at some rows and have some lengths, in the given order."""
    shifts = np.repeat(starts - offsets_of(lengths)[:-1], lengths)
    rows: npt.NDArray[np.int64] = np.arange(len(shifts)) + shifts
    return rows


def parts(offsets: Offsets, tokens: int = AT_A_TIME) -> Iterator[slice]:
    """Slices of consecutive texts with at most ``tokens`` tokens each, but at least one text.

    >>> list(parts(offsets_of([2, 3, 1, 9]), 5))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    start, texts = 0, len(offsets) - 1
    while start < texts:
        stop = int(np.searchsorted(offsets, offsets[start] + tokens, side="right")) - 1
        stop = min(max(stop, start + 1), texts)
        yield slice(start, stop)
        start = stop
