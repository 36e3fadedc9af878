"""One vector per text, the mean of its token vectors: dense retrieval without a second model."""

import numpy as np
import numpy.typing as npt

from chamfer.retrieve.nearest import Nearest, VectorIndex
from chamfer.retrieve.stage import Candidates, Queries, Stage
from chamfer.tokens.means import mean_vectors

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


STAGE = Stage(Dense)
