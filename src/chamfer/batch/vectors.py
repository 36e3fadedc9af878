"""Token vectors as columns of a table: the bytes of each text."""

import numpy as np

from chamfer.batch.workers import Table
from chamfer.tokens import TokenBatch, Vectors, offsets_of

VECTORS, TOKEN_IDS, DIMENSIONS = "vectors", "token_ids", "dimensions"


def to_columns(batch: TokenBatch) -> Table:
    """Give a row for each text: its vectors and token ids as bytes, and the dimensions.

    >>> batch = TokenBatch.pack([np.eye(2, 3), np.ones((0, 3))], [[7, 8], []])
    >>> again = from_columns(to_columns(batch))
    >>> again.vectors.tolist() == batch.vectors.tolist(), again.lengths.tolist()
    (True, [2, 0])
    """
    texts = [batch[place] for place in range(len(batch))]
    return {
        VECTORS: [text.vectors.tobytes() for text in texts],
        TOKEN_IDS: [text.token_ids.tobytes() for text in texts],
        DIMENSIONS: [batch.dimensions] * len(batch),
    }


def from_columns(table: Table) -> TokenBatch:
    """Read what :func:`to_columns` gave, of at least one text."""
    dimensions = int(table[DIMENSIONS][0])
    vectors, token_ids = b"".join(table[VECTORS]), np.frombuffer(b"".join(table[TOKEN_IDS]), np.int32)
    kind = np.float16 if len(vectors) == 2 * dimensions * len(token_ids) > 0 else np.float32
    flat: Vectors = np.frombuffer(vectors, kind)
    return TokenBatch(
        flat.reshape(-1, dimensions),
        token_ids,
        offsets_of([len(ids) // 4 for ids in table[TOKEN_IDS]]),
    )
