"""A first stage followed by exact scores: encoded and weighted queries in, the top k documents out."""

import operator
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.index.snapshot import Snapshot
from chamfer.retrieve.best_passages import best_passages, enough_documents
from chamfer.retrieve.evidence import Evidence
from chamfer.retrieve.exhaustive import Exhaustive, best
from chamfer.retrieve.stage import Candidates, FirstStage, Queries
from chamfer.retrieve.stages import AUTO, EXACT, chosen_name, depth_of, open_stage
from chamfer.weights.scale import Scale


class Ranker:
    """Ranks the documents of an index for queries that are already encoded.

    Args:
        index: snapshot to search.
        first_stage: name of a first stage, see :mod:`chamfer.retrieve.stages`.
    """

    def __init__(self, index: Snapshot, *, first_stage: str = AUTO) -> None:
        self.index, self._first_stage = index, first_stage
        self.evidence = Evidence(index)
        """Evidence beside the tokens."""
        self._stages: dict[str, FirstStage] = {}
        self._stage(first_stage)
        index.prepare()

    def rank(
        self,
        queries: Queries,
        k: int,
        *,
        first_stage: str | None = None,
        depth: int | None = None,
        allowed: npt.NDArray[np.bool_] | None = None,
        offset: int = 0,
    ) -> list[Candidates]:
        """Find the top ``offset + k`` documents for each query: their places and scores.

        The candidates depend on ``k`` alone, so that pages of ``k`` documents are parts of one list. It ends where the
        candidates do. In an index of passages, a document has the score of its best passage, and the place of that.

        Args:
            queries: queries in the dimensions that the index stores.
            k: number of documents to find.
            first_stage: a first stage to use instead of the ranker's own.
            depth: number of candidates to score exactly, each of them a document or a passage; by default as the first
                stage declares.
            allowed: ``(places,)`` mask of the documents that may be found; by default all that are not deleted.
            offset: number of documents to find before them.
        """
        with self.index.searching():
            return self._rank(queries, k, first_stage, depth, allowed, offset + k)

    def _rank(
        self,
        queries: Queries,
        k: int,
        first_stage: str | None,
        depth: int | None,
        allowed: npt.NDArray[np.bool_] | None,
        top: int,
    ) -> list[Candidates]:
        name = chosen_name(first_stage or self._first_stage, self.index)
        stage = self._stage(name)
        allowed = self.index.live if allowed is None else allowed
        rows = self.index.manifest.rows
        wanted = depth_of(name) if depth is None else whole(depth, "depth")
        depth = max(k, wanted)
        searched = rows if allowed is None else np.count_nonzero(allowed)
        # A filter may leave no more documents than would be scored anyway.
        if name == EXACT or (searched <= depth and searched < rows):
            exact = self._stage(EXACT)
            return best_passages(
                self.index, len(queries.tokens), top, lambda some, count: exact.find(queries.take(some), count, allowed)
            )

        def find(some: Sequence[int], count: int) -> list[Candidates]:
            return stage.find(queries.take(some), count, allowed)

        candidates = [one.places for one in enough_documents(self.index, len(queries.tokens), k, depth, find)]
        added = self.evidence.added(queries, candidates)

        def score(some: Sequence[int], count: int) -> list[Candidates]:
            own = None if added is None else [added[n] for n in some]
            return best(self.index, queries.take(some), count, [candidates[n] for n in some], own)

        answers = best_passages(self.index, len(queries.tokens), top, score)
        self.index.relieve()
        return answers

    def scales(self, queries: Queries) -> list[Scale]:
        """The scale of the scores of each query, which :meth:`rank` returns as the kernel computes them."""
        counts = self.evidence.bm25.counts(queries.texts) if queries.mix.lexical and queries.counts is None else None
        return [queries.scale_of(place, counts) for place in range(len(queries.texts))]

    def explained(
        self, query: Queries, ids: Sequence[str], passages: Mapping[str, int] | None = None
    ) -> npt.NDArray[np.int64]:
        """The place of each document, or of one passage of it.

        Args:
            query: one query, with counts of its words if they are needed.
            ids: ids of documents; an unknown one is an error.
            passages: numbers of the passages that were found, by id; of other documents, it is the best passage for the
                query, whichever the first stage would find.
        """
        known = passages or {}
        every = dict(zip(ids, self.index.all_places(ids), strict=True))
        if self.index.settings.passages is None:
            return np.array([every[identifier][0] for identifier in ids], np.int64)
        chosen = {one: places[known[one] - 1] for one, places in every.items() if one in known}
        rest = {one: places for one, places in every.items() if one not in known}
        if rest:
            chosen |= self._best_of(query, rest)
        return np.array([chosen[identifier] for identifier in ids], np.int64)

    def _best_of(self, query: Queries, documents: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """The best place of each document, from the places of all its passages."""
        allowed = np.zeros(len(self.index), np.bool_)
        allowed[[place for places in documents.values() for place in places]] = True
        [found] = self.rank(query, len(documents), first_stage=EXACT, allowed=allowed)
        best_of = dict(zip(self.index.owners[found.places].tolist(), found.places.tolist(), strict=True))
        return {one: best_of[int(self.index.owners[places[0]])] for one, places in documents.items()}

    def _stage(self, name: str) -> FirstStage:
        name = chosen_name(name, self.index)
        if name not in self._stages:
            self._stages[name] = (
                Exhaustive(self.index, self.evidence) if name == EXACT else open_stage(name, self.index)
            )
        return self._stages[name]


def page_notes(found: int, k: int, offset: int, searched: int) -> list[str]:
    """One sentence if a list ends on a page although more documents were searched.

    Args:
        found: number of documents on the page.
        k: number of documents that a page may have.
        offset: number of documents before the page; without any, the list is as short as the first stage makes it.
        searched: number of documents that pass the filter.
    """
    if not offset or found == k or offset + found >= searched:
        return []
    return ["the list ends here because the first stage found no more candidates; a larger k may find more"]


def whole(number: int, name: str, *, least: int = 1) -> int:
    """A whole number, or an error that names the argument."""
    try:
        counted = operator.index(number)
    except TypeError:
        counted = least - 1
    if counted < least:
        raise InputError(f"{name} must be at least {least}, not {number!r}")
    return counted
