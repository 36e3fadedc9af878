"""What one shard answers: queries that are encoded and weighted in, documents out. It needs no encoder."""

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.filters import as_filter
from chamfer.index.shards import ShardVersion, current_version, open_shard
from chamfer.kernels.form import Form
from chamfer.retrieve.ranker import Ranker
from chamfer.retrieve.stage import Queries
from chamfer.tokens.batch import TokenBatch

# Versions that are open at a time: the one that is searched, and the one that comes or has just gone.
OPEN = 2


class Opened(NamedTuple):
    """Which replica has opened a version, and how many documents its shard has in it."""

    replica: str
    documents: int


class Ranked(NamedTuple):
    """The best documents of a shard for one query, the best first."""

    documents: list[Document]
    scores: npt.NDArray[np.float32]


class Kept(NamedTuple):
    """A document as a shard keeps it, and whether a filter holds for it."""

    document: Document
    tokens: TokenBatch
    allowed: bool


class Shard:
    """One shard of a set, in the versions that are asked for; one of its replicas, where there are several.

    Every question names the version that it is for, so that answers of several shards always fit each other; a version
    that is not open yet, in a replica that has just started, is opened for the question.

    Args:
        folder: of the set.
        number: which shard, from 0.
        form: ``l2`` or ``cosine``.
        first_stage: a name, see :mod:`chamfer.retrieve.stages`.
    """

    def __init__(self, folder: str | Path, number: int, *, form: Form = "l2", first_stage: str = "auto") -> None:
        self._folder, self._number, self._form, self._first_stage = Path(folder), number, form, first_stage
        self._name = uuid4().hex
        self._opened: dict[ShardVersion, Ranker] = {}
        self._turns, self._opening = Lock(), Lock()
        self.follow()

    @property
    def versions(self) -> list[ShardVersion]:
        """Those that are open."""
        with self._turns:
            return sorted(self._opened)

    def follow(self) -> None:
        """Open the version that counts now, if that can be; a server may be content with the one before."""
        try:
            self._ranker(current_version(self._folder))
        except (InputError, OSError) as error:
            logging.getLogger("chamfer").warning("shard %d is not opened yet: %s", self._number, error)

    def prepare(self, version: ShardVersion) -> Opened:
        """Open a version, with all that its first stage needs."""
        return Opened(self._name, self._ranker(version).index.manifest.documents)

    def ready(self, version: ShardVersion) -> Opened:
        """The same, asked to know whether questions would be answered."""
        return self.prepare(version)

    def holds(self, version: ShardVersion) -> bool:
        """Whether a version is open."""
        with self._turns:
            return version in self._opened

    def rank(self, version: ShardVersion, queries: Queries, k: int, where: str | None = None) -> list[Ranked]:
        """The best ``k`` documents for each query, of those that a filter holds for."""
        ranker = self._ranker(version)
        index = ranker.index
        found = ranker.rank(queries, k, allowed=index.allowed(as_filter(where)))
        return [Ranked(index.documents(one.places), one.scores) for one in found]

    def documents(self, version: ShardVersion, ids: Sequence[str], where: str | None = None) -> list[Kept]:
        """Those of some documents that are in this shard, with their vectors."""
        index = self._ranker(version).index
        among = index.allowed(None, ids)
        allowed = index.allowed(as_filter(where))
        places = np.arange(0) if among is None else np.flatnonzero(among)
        return [
            Kept(document, index.tokens(place), bool(allowed is None or allowed[place]))
            for place, document in zip(places.tolist(), index.documents(places), strict=True)
        ]

    def _ranker(self, version: ShardVersion) -> Ranker:
        found = self._open(version)
        if found is not None:
            return found
        # What is open answers meanwhile: to open another version may take a first stage minutes.
        with self._opening:
            found = self._open(version)
            if found is not None:  # somebody else has opened it
                return found
            index = open_shard(self._folder, version, self._number)
            ranker = Ranker(index, first_stage=self._first_stage, form=self._form)
            with self._turns:
                self._opened[version] = ranker
                while len(self._opened) > OPEN:
                    del self._opened[next(iter(self._opened))]
            return ranker

    def _open(self, version: ShardVersion) -> Ranker | None:
        with self._turns:
            if version in self._opened:
                self._opened[version] = self._opened.pop(version)  # the last to go
            return self._opened.get(version)
