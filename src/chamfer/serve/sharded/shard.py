"""One shard: takes encoded and weighted queries, returns documents. It needs no encoder."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.example_queries import examples_of
from chamfer.index.filters import Filter
from chamfer.index.shards import ShardVersion, current_version, open_shard
from chamfer.index.tallies import Tally
from chamfer.retrieve.ranker import Ranker
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.retrieve.stages import AUTO
from chamfer.retrieve.unrelated import Span, kernel_scores, spans_of
from chamfer.retrieve.word_counts import WordCounts
from chamfer.serve.rankings import Ranked
from chamfer.serve.sharded.pages import Placed
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.mix import Mix

# Versions open at a time: the one being served, and the next or the previous one.
OPEN = 2
# Needs all evidence. A shard does not know the weights, and making the files takes longer than a question may.
ANY = Mix(lexical=1, pooled=1)


class Opened(NamedTuple):
    """The replica that opened a version, and the number of documents of its shard."""

    replica: str
    documents: int


class Described(NamedTuple):
    """The fields of the documents of a shard, its example queries, and the number of its passages."""

    tally: Tally
    examples: list[str]
    passages: int | None


class Stored(NamedTuple):
    """A document as a shard stores it, and whether it passes the filter."""

    document: Document
    tokens: TokenBatch
    allowed: bool


class Shard:
    """One replica of one shard.

    Every question names the version that it is for, so that the answers of all shards fit together. A version that is
    not open yet, as in a replica that has just started, is opened for the question.

    Args:
        folder: folder of the shards.
        number: number of the shard, from 0.
        first_stage: name of the first stage, see :mod:`chamfer.retrieve.stages`.
        verify: verify a version before it is served; in the background by default.
    """

    def __init__(self, folder: str | Path, number: int, *, first_stage: str = AUTO, verify: bool = False) -> None:
        self._folder, self._number, self._first_stage, self._verify = Path(folder), number, first_stage, verify
        self._name = uuid4().hex
        self._opened: dict[ShardVersion, Ranker] = {}
        self._examples: dict[ShardVersion, list[str]] = {}
        self._turns, self._opening = Lock(), Lock()
        self.follow()

    @property
    def versions(self) -> list[ShardVersion]:
        """The versions that are open."""
        with self._turns:
            return sorted(self._opened)

    def follow(self) -> None:
        """Open the current version if possible; otherwise the server goes on with the previous one."""
        try:
            self._ranker(current_version(self._folder))
        except (InputError, OSError) as error:
            logging.getLogger("chamfer").warning(
                "shard %d cannot open the current version yet: %s", self._number, error
            )

    def prepare(self, version: ShardVersion) -> Opened:
        """Open a version with its first stage and its evidence."""
        return Opened(self._name, self._ranker(version).index.manifest.documents)

    def ready(self, version: ShardVersion) -> Opened:
        """Like :meth:`prepare`; asks whether a lost shard can answer questions again."""
        self._ranker(version).index.check()
        return self.prepare(version)

    def holds(self, version: ShardVersion) -> bool:
        """Whether a version is open."""
        with self._turns:
            return version in self._opened

    def rank(
        self, version: ShardVersion, groups: Sequence[Queries], k: int, where: Filter | None = None, offset: int = 0
    ) -> list[Ranked]:
        """The top ``offset + k`` documents for each query of each group, among those that pass the filter."""
        index = self._ranker(version).index
        found = self._rank(version, groups, k, where, offset)
        return [Ranked(index.documents(one.places), one.scores) for one in found]

    def place(
        self, version: ShardVersion, groups: Sequence[Queries], k: int, where: Filter | None, offset: int
    ) -> list[Placed]:
        """Like :meth:`rank`, but without the documents, of which a later page needs few."""
        index = self._ranker(version).index
        found = self._rank(version, groups, k, where, offset)
        return [Placed(index.ids(one.places), one.places, one.scores) for one in found]

    def documents_at(self, version: ShardVersion, places: Sequence[int]) -> list[Document]:
        """The documents at places that :meth:`place` returned for the same version."""
        return self._ranker(version).index.documents(np.array(places, np.int64))

    def _rank(
        self, version: ShardVersion, groups: Sequence[Queries], k: int, where: Filter | None, offset: int
    ) -> list[Candidates]:
        ranker = self._ranker(version)
        allowed = ranker.index.allowed(where)
        return [one for queries in groups for one in ranker.rank(queries, k, allowed=allowed, offset=offset)]

    def count_words(self, version: ShardVersion, queries: Sequence[str]) -> WordCounts:
        """Count the words of queries in the documents of this shard."""
        return self._ranker(version).evidence.bm25.counts(queries)

    def describe(self, version: ShardVersion) -> Described:
        """What the documents of this shard hold."""
        index = self._ranker(version).index
        passages = None if index.settings.passages is None else index.manifest.rows
        if version not in self._examples:
            self._examples[version] = examples_of(index)
        return Described(index.tally, self._examples[version], passages)

    def spans(self, version: ShardVersion, count: int) -> list[Span]:
        """Random parts of documents, see :func:`chamfer.retrieve.unrelated.spans_of`."""
        return spans_of(self._ranker(version).index, count)

    def unrelated(
        self, version: ShardVersion, queries: Queries, documents: Sequence[str], count: int
    ) -> list[npt.NDArray[np.float32]]:
        """The kernel's scores of random documents, see :func:`chamfer.retrieve.unrelated.kernel_scores`."""
        ranker = self._ranker(version)
        return kernel_scores(ranker.index, ranker.evidence, queries, documents, count)

    def documents(
        self,
        version: ShardVersion,
        ids: Sequence[str],
        where: Filter | None = None,
        query: Queries | None = None,
        passages: Mapping[str, int] | None = None,
    ) -> list[Stored]:
        """The documents with the given ids, with their vectors; ids that this shard does not hold are skipped.

        Of a document in passages, it is the one that was found, or the best one for a query, or the first without one;
        see :meth:`chamfer.retrieve.ranker.Ranker.explained`.
        """
        ranker = self._ranker(version)
        index = ranker.index
        known = list(index.find(ids))
        places = index.places(known) if query is None else ranker.explained(query, known, passages)
        allowed = index.allowed(where)
        return [
            Stored(document, index.tokens(place), bool(allowed is None or allowed[place]))
            for place, document in zip(places.tolist(), index.documents(places), strict=True)
        ]

    def _ranker(self, version: ShardVersion) -> Ranker:
        found = self._open(version)
        if found is not None:
            return found
        # Open versions answer meanwhile: building a first stage for a new version may take minutes.
        with self._opening:
            found = self._open(version)
            if found is not None:  # another thread has opened it
                return found
            index = open_shard(self._folder, version, self._number, verify=self._verify)
            ranker = Ranker(index, first_stage=self._first_stage)
            ranker.evidence.open(ANY)
            _ = index.tally  # counts all documents of a new version, which may take longer than a question may
            with self._turns:
                self._opened[version] = ranker
                while len(self._opened) > OPEN:
                    oldest = next(iter(self._opened))
                    self._opened.pop(oldest).index.soundness.stop()
                    self._examples.pop(oldest, None)
            index.soundness.check_in_background()
            return ranker

    def _open(self, version: ShardVersion) -> Ranker | None:
        with self._turns:
            if version in self._opened:
                self._opened[version] = self._opened.pop(version)  # most recently used: closed last
            return self._opened.get(version)
