"""Documents of an index of passages: each is found once, with its best passage."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from chamfer.index.snapshot import Snapshot
from chamfer.retrieve.stage import Candidates

Find = Callable[[Sequence[int], int], list[Candidates]]
"""Takes positions of queries and a number; returns that many places for each, best first, or as many as there are."""

# Passages to find for each document at first, and the growth of that number for queries that it does not suffice for.
FACTOR = 4


def best_passages(index: Snapshot, queries: int, top: int, find: Find) -> list[Candidates]:
    """The top documents for each query, in the order of their best passages.

    More passages are asked for until they are of enough documents, so the result is what scoring all of them gives.

    Args:
        index: snapshot of the index; without passages, every place is a document.
        queries: number of queries.
        top: number of documents to find.
        find: finds the best places.
    """
    if index.settings.passages is None:
        return find(range(queries), top)
    found = _until_enough(index, queries, top, FACTOR * top, find)
    return [_at(one, first_places(index, one.places)[:top]) for one in found]


def enough_documents(index: Snapshot, queries: int, documents: int, depth: int, find: Find) -> list[Candidates]:
    """Candidates: ``depth`` places for each query, or more if they are of too few documents.

    Args:
        index: snapshot of the index; without passages, every place is a document.
        queries: number of queries.
        documents: number of documents that a query needs.
        depth: number of places to find, not below the number of documents.
        find: finds candidates.
    """
    if index.settings.passages is None:
        return find(range(queries), depth)
    return _until_enough(index, queries, documents, depth, find)


def _until_enough(index: Snapshot, queries: int, documents: int, count: int, find: Find) -> list[Candidates]:
    answers: dict[int, Candidates] = {}
    waiting: Sequence[int] = range(queries)
    while waiting:
        for query, one in zip(waiting, find(waiting, count), strict=True):
            # Each query by itself, so that an answer does not depend on what else is asked.
            if len(one.places) < count or len(first_places(index, one.places)) >= documents:
                answers[query] = one
        waiting = [query for query in waiting if query not in answers]
        count *= FACTOR
    return [answers[query] for query in range(queries)]


def first_places(index: Snapshot, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Positions in ``places`` at which a document occurs for the first time."""
    return np.sort(np.unique(index.owners[places], return_index=True)[1])


def _at(found: Candidates, positions: npt.NDArray[np.int64]) -> Candidates:
    return Candidates(found.places[positions], found.scores[positions])
