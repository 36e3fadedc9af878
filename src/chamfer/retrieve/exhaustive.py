"""Every document is scored: exact, and the fastest stage for a small index."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.index.snapshot import Snapshot
from chamfer.kernels import dispatch
from chamfer.retrieve.evidence import Evidence
from chamfer.retrieve.stage import Candidates, Queries, Stage

# Queries whose evidence is in memory at a time.
AT_ONCE = 64


class Exhaustive:
    """Scores every document, so that its candidates are the final answer.

    Args:
        index: snapshot of the index.
        evidence: evidence to add if the queries have a mix; opened on the index by default.
    """

    def __init__(self, index: Snapshot, evidence: Evidence | None = None) -> None:
        self._index, self._evidence = index, evidence or Evidence(index)

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None) -> list[Candidates]:
        """Find the top ``depth`` of the allowed documents."""
        chosen = None if allowed is None else np.flatnonzero(allowed)
        found = []
        # Evidence takes 4 bytes for each query and document.
        for part in queries.portions(AT_ONCE if queries.mix else max(1, len(queries.texts))):
            places = None if chosen is None else [chosen] * len(part.texts)
            found += best(self._index, part, depth, places, self._evidence.added(part, places))
        return found


def best(
    index: Snapshot,
    queries: Queries,
    k: int,
    candidates: Sequence[npt.NDArray[np.int64]] | None = None,
    added: Sequence[npt.NDArray[np.float32]] | None = None,
) -> list[Candidates]:
    """Find the top k of some candidates, or of all places, for each query; ties broken by document id.

    Args:
        index: snapshot of the index.
        queries: queries in the dimensions that the index stores.
        k: number of documents to find.
        candidates: places of documents, for each query; all places by default.
        added: what to add to the score of each candidate, for each query.
    """
    found: list[list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]] = [[] for _ in range(len(queries.tokens))]
    for number, segment in enumerate(index.segments):
        start, stop = index.starts[number], index.starts[number + 1]
        chosen, offsets = None, None if added is None else [own[start:stop] for own in added]
        if candidates is not None:
            # The documents of a segment are sorted by id, so ascending places break ties by id.
            different = {id(places): places for places in candidates}  # a list that queries share is processed once
            orders = {key: _ascending(one, start, stop) for key, one in different.items()}
            own = {key: one[orders[key]] - start for key, one in different.items()}
            chosen = [own[id(places)] for places in candidates]
            if added is not None:
                offsets = [own[orders[id(places)]] for own, places in zip(added, candidates, strict=True)]
        answers = dispatch.best(
            queries.tokens, queries.weights, segment, k=k, candidates=chosen, form=queries.form, offsets=offsets
        )
        for of_query, answer in zip(found, answers, strict=True):
            of_query.append((answer.places + start, answer.scores))
    return [_merged(index, answers, k) for answers in found]


def _ascending(places: npt.NDArray[np.int64], start: int, stop: int) -> npt.NDArray[np.int64]:
    """Positions of the places from ``start`` to ``stop``, such that the places ascend."""
    inside = np.flatnonzero((places >= start) & (places < stop))
    return inside[np.argsort(places[inside], kind="stable")]


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
