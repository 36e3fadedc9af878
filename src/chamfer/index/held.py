"""What an index holds while it is being changed: its documents by id and by filter, and its segments, opened once."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.damage import absence_is_damage
from chamfer.index.filters import Filter
from chamfer.index.manifest import Entry, File, Manifest
from chamfer.index.segment import Segment
from chamfer.index.trained import Trained

Found = Mapping[Entry, Mapping[str, Sequence[int]]]
"""The places of documents in their segments, by id."""


class Held:
    """The newest commit, as its writer reads it.

    Args:
        folder: folder of the index.
        manifest: the commit.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self._folder = folder
        self._learnt: dict[File, Trained] = {}
        self._segments: dict[Entry, Segment] = {}

    def follow(self, manifest: Manifest) -> None:
        """Go on to the next commit; segments that it has, too, stay open, but nothing of them stays in memory."""
        if manifest.trained != self.manifest.trained:
            self._segments = {}
        self._segments = {entry: kept for entry, kept in self._segments.items() if entry in manifest.segments}
        for kept in self._segments.values():
            kept.forget()
        self.manifest = manifest

    @property
    def trained(self) -> Trained | None:
        """Centroids, projection and residual levels; None before training."""
        file = self.manifest.trained
        if file is None:
            return None
        if file not in self._learnt:
            with absence_is_damage():
                file.check(self._folder)
                self._learnt = {file: Trained.load(self._folder / file.name, self.manifest.settings)}
        return self._learnt[file]

    def segment(self, entry: Entry) -> Segment:
        """A segment of the commit."""
        learnt = self.trained
        if learnt is None:
            raise InputError(f"the index in {self._folder} has segments but no centroids; build it again")
        if entry not in self._segments:
            with absence_is_damage():
                self._segments[entry] = Segment(self._folder, entry, self.manifest, learnt)
        return self._segments[entry]

    def find(self, ids: Sequence[str]) -> Found:
        """Places of live documents with these ids, by segment; one for each passage."""
        found: dict[Entry, Mapping[str, Sequence[int]]] = {}
        for entry in self.manifest.segments:
            segment = self.segment(entry)
            there = segment.database.places(ids)
            if segment.deleted is not None:
                there = {name: places for name, places in there.items() if not segment.deleted[places[0]]}
            if there:
                found[entry] = there
        return found

    def known(self, ids: Sequence[str]) -> set[str]:
        """Those ids that live documents have."""
        return {name for there in self.find(ids).values() for name in there}

    def present(self, documents: Iterable[Document]) -> set[str]:
        """Ids of those documents that the index already holds, unchanged."""
        given = {document.id: document for document in documents}
        return {
            name
            for entry, there in self.find(list(given)).items()
            for name in self.segment(entry).database.unchanged(np.sort(np.concatenate([*there.values()])), given)
        }

    def matching(self, where: Filter) -> list[str]:
        """The ids of live documents that pass a filter."""
        ids: list[str] = []
        for entry in self.manifest.segments:
            segment = self.segment(entry)
            places = segment.database.matching(where)
            ids += segment.database.ids(places if segment.deleted is None else places[~segment.deleted[places]])
        return list(dict.fromkeys(ids))
