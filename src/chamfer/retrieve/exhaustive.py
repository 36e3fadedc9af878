"""Every document is scored: exact, and the fastest stage for a small index."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.index.snapshot import Snapshot
from chamfer.kernels import dispatch
from chamfer.retrieve.stage import Candidates, Queries, Stage


class Exhaustive:
    """Scores every document, so that its candidates are the final answer."""

    def __init__(self, index: Snapshot) -> None:
        self._index = index

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None) -> list[Candidates]:
        """Find the top ``depth`` of the allowed documents."""
        places = None if allowed is None else [np.flatnonzero(allowed)] * len(queries.tokens)
        return best(self._index, queries, depth, places)


def best(
    index: Snapshot,
    queries: Queries,
    k: int,
    candidates: Sequence[npt.NDArray[np.int64]] | None = None,
) -> list[Candidates]:
    """Find the top k of some candidates, or of all places, for each query; ties broken by document id."""
    found: list[list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]] = [[] for _ in range(len(queries.tokens))]
    for number, segment in enumerate(index.segments):
        start, stop = index.starts[number], index.starts[number + 1]
        chosen = None
        if candidates is not None:
            # The documents of a segment are sorted by id, so ascending places break ties by id.
            different = {id(places): places for places in candidates}  # a list that queries share is processed once
            own = {key: np.sort(one[(one >= start) & (one < stop)]) - start for key, one in different.items()}
            chosen = [own[id(places)] for places in candidates]
        answers = dispatch.best(queries.tokens, queries.weights, segment, k=k, candidates=chosen, form=queries.form)
        for of_query, answer in zip(found, answers, strict=True):
            of_query.append((answer.places + start, answer.scores))
    return [_merged(index, answers, k) for answers in found]


def _merged(
    index: Snapshot, answers: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]], k: int
) -> Candidates:
    """The top k over all segments; ids are looked up only for ties."""
    places = np.concatenate([places for places, _ in answers] or [np.empty(0, np.int64)])
    scores = np.concatenate([scores for _, scores in answers] or [np.empty(0, np.float32)])
    order = np.argsort(-scores, kind="stable")
    if len(order) > k > 0:  # documents that tie with the last one may come before it
        order = order[: int(np.searchsorted(-scores[order], -scores[order[k - 1]], side="right"))]
    if len(answers) > 1:
        same = scores[order[1:]] == scores[order[:-1]]  # not by differences: infinite scores are equal too
        tied = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
        if len(tied):
            ids = np.full(len(order), "", object)
            ids[tied] = index.ids(places[order[tied]])
            order = order[sorted(range(len(order)), key=lambda at: (-scores[order[at]], ids[at]))]
    return Candidates(places[order[:k]], scores[order[:k]])


STAGE = Stage(Exhaustive)
