"""Reciprocal rank fusion of two or more first stages."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.retrieve.stage import Candidates, FirstStage, Queries

# As in the original paper (Cormack, Clarke and Buettcher, 2009).
CONSTANT = 60


class Fusion:
    """Fuses the candidates of several stages: a document scores the sum of ``1 / (60 + its rank)`` over the stages.

    Token weights take effect through the stages that use them.
    """

    def __init__(self, stages: Sequence[FirstStage]) -> None:
        self._stages = stages

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None) -> list[Candidates]:
        """Find the documents with the highest fused scores."""
        answers = [stage.find(queries, depth, allowed) for stage in self._stages]
        return [fuse(of_one_query, depth) for of_one_query in zip(*answers, strict=True)]


def fuse(answers: Sequence[Candidates], depth: int) -> Candidates:
    """Fuse the candidates that several stages found for one query.

    >>> first = Candidates(np.array([7, 3]), np.array([2.0, 1.0], np.float32))
    >>> second = Candidates(np.array([3, 9]), np.array([0.5, 0.1], np.float32))
    >>> fuse([first, second], depth=2).places
    array([3, 7])
    """
    found = np.concatenate([answer.places for answer in answers])
    shares = np.concatenate([1 / (CONSTANT + 1 + np.arange(len(answer.places))) for answer in answers])
    places, at = np.unique(found, return_inverse=True)
    scores = np.bincount(at, shares, minlength=len(places)).astype(np.float32)
    order = np.argsort(-scores, kind="stable")[:depth]
    return Candidates(places[order].astype(np.int64), scores[order])
