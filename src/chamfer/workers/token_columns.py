"""A ``TokenBatch`` as a table of one row."""

from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.tokens.batch import TokenBatch, offsets_of
from chamfer.workers.jobs import Table

VECTORS, TOKEN_IDS, LENGTHS, DIMENSIONS, KIND = "vectors", "token_ids", "lengths", "dimensions", "kind"


def to_columns(batch: TokenBatch) -> Table:
    """Vectors, token ids and lengths as bytes, which are not copied within this process.

    >>> batch = TokenBatch.pack([np.eye(2, 3), np.ones((0, 3))], [[7, 8], []])
    >>> again = from_columns(to_columns(batch))
    >>> again.vectors.tolist() == batch.vectors.tolist(), again.lengths.tolist()
    (True, [2, 0])
    """
    return {
        VECTORS: [as_bytes(batch.vectors)],
        TOKEN_IDS: [as_bytes(batch.token_ids.astype(np.int32, copy=False))],
        LENGTHS: [as_bytes(batch.lengths.astype(np.int64, copy=False))],
        DIMENSIONS: [batch.dimensions],
        KIND: [batch.vectors.dtype.name],
    }


def from_columns(table: Table) -> TokenBatch:
    """The batch that :func:`to_columns` was given."""
    return TokenBatch(
        from_bytes(table[VECTORS][0], np.dtype(table[KIND][0])).reshape(-1, table[DIMENSIONS][0]),
        from_bytes(table[TOKEN_IDS][0], np.int32),
        offsets_of(from_bytes(table[LENGTHS][0], np.int64)),
    )


def as_bytes(values: npt.NDArray[Any]) -> memoryview:
    """The bytes of an array, without a copy."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def from_bytes(content: bytes | memoryview, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """The array that :func:`as_bytes` was given, flattened."""
    return np.frombuffer(content, kind) if len(content) else np.empty(0, kind)
