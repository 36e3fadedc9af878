"""What every first stage is asked, and what it answers."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from chamfer.tokens.batch import TokenBatch


class Queries(NamedTuple):
    """Some queries.

    Args:
        texts: as they were asked.
        tokens: their vectors, in the dimensions that the index keeps.
        weights: ``(query tokens,)`` float32, none negative.
    """

    texts: Sequence[str]
    tokens: TokenBatch
    weights: npt.NDArray[np.float32]

    def weights_of(self, place: int) -> npt.NDArray[np.float32]:
        """The weights of one query."""
        return self.weights[self.tokens.offsets[place] : self.tokens.offsets[place + 1]]


class Candidates(NamedTuple):
    """Documents that a stage finds for a query.

    Args:
        places: in the index, best first.
        scores: the stage's own, higher is closer.
    """

    places: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


class FirstStage(Protocol):
    """Queries in, candidates out."""

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None) -> list[Candidates]:
        """Find up to ``depth`` candidates for each query.

        Args:
            queries: with their weights, which enter where a stage can use them.
            depth: how many are wanted.
            allowed: ``(places,)`` which documents may be found; without it deleted ones may be found too.
        """
        ...
