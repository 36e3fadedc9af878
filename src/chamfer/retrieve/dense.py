"""One vector per text, the mean of its token vectors: dense retrieval without a second model."""

import numpy as np
import numpy.typing as npt

from chamfer.retrieve.nearest import Nearest, VectorIndex, summed
from chamfer.retrieve.stage import Candidates, Queries, Stage
from chamfer.tokens.batch import TokenBatch

Floats = npt.NDArray[np.float32]

# Change the name whenever the vectors change.
NAME = "dense-1"


class Dense:
    """Finds documents by the cosine of mean token vectors, in a vector index.

    The vector of a query is the weighted mean of its tokens. Documents are plain means, so that one vector index serves
    every weighting. A document without tokens is never found.

    Args:
        index: the index to search.
    """

    def __init__(self, index: VectorIndex) -> None:
        self._nearest = Nearest(index, NAME, mean_vectors, size=index.dimensions)

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None = None) -> list[Candidates]:
        """Find the documents whose mean vectors have the largest cosine with that of each query."""
        return self._nearest.find(mean_vectors(queries.tokens, queries.weights), depth, allowed)


def mean_vectors(batch: TokenBatch, weights: Floats | None = None) -> Floats:
    """``(texts, dimensions)`` the weighted mean of the token vectors of each text, normalised to unit length.

    A text without tokens, or with weights that are all 0, becomes zeros.

    >>> batch = TokenBatch.pack([np.eye(2), np.empty((0, 2))], [[0, 0], []])
    >>> print(mean_vectors(batch).round(2))
    [[0.71 0.71]
     [0.   0.  ]]
    >>> mean_vectors(batch, np.array([2, 0], np.float32)).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    factors = np.ones(len(batch.vectors), np.float32) if weights is None else weights.astype(np.float32)
    texts = np.repeat(np.arange(len(batch)), batch.lengths)
    means = summed(batch.vectors.astype(np.float32), factors, texts, len(batch))
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    np.divide(means, lengths, out=means, where=lengths > 0)
    return means


STAGE = Stage(Dense)
