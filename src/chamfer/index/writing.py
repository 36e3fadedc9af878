"""An index that changes: documents are added and deleted, segments merged, each by one commit."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.clusters import count_for
from chamfer.index.columns import DISTINCT
from chamfer.index.filters import Filter
from chamfer.index.frequencies import Counts, count, read_counts, write_counts
from chamfer.index.manifest import (
    MANIFEST,
    SEGMENTS,
    Entry,
    File,
    Manifest,
    needed_manifest,
    read_manifest,
    write_manifest,
)
from chamfer.index.merging import learnt_from, like_the_last, live_tokens, merged_rows
from chamfer.index.pooling import pool
from chamfer.index.rows import Rows, check_unit, columns_in_parts
from chamfer.index.segment import Segment, SegmentWriter
from chamfer.index.settings import Settings
from chamfer.index.sweeping import has_orphans, sweep
from chamfer.index.texts import check_storable, stored
from chamfer.index.trained import Trained, train
from chamfer.support.files import atomic_write, writer_lock
from chamfer.support.strings import list_of_strings
from chamfer.tokens.batch import TokenBatch, TokenIds, rows_at

# So many segments of like size become one: a document is copied once for each power of eight at most. Large ones stay
# as they are, so that the time to add a document does not grow with the index.
FAN, LARGE = 8, 2**17
# Centroids are trained again when four times as many would suit: when there are sixteen times the tokens.
OUTGROWN = 4


@contextmanager
def writing(folder: Path, settings: Settings | None = None) -> Iterator["Writer"]:
    """Hold an index for writing; a second writer gets an error at once.

    Args:
        folder: where it lies.
        settings: creates the index if it is not there, and must be those of one that is.
    """
    if settings is None:
        needed_manifest(folder)  # before a lock file is made in a folder that is none of ours
    with writer_lock(folder):
        manifest = read_manifest(folder)
        if manifest is None:
            if settings is None or has_orphans(folder):
                raise InputError(
                    f"{folder / MANIFEST} is missing; choose another folder, or delete it and build the index again"
                )
            manifest = Manifest(0, settings)
            write_manifest(folder, manifest)
        elif settings is not None and settings != manifest.settings:
            raise InputError(f"the index in {folder} has other settings; choose another folder or delete it")
        writer = Writer(folder, manifest)
        sweep(folder, manifest)
        yield writer


class Writer:
    """The one that may change an index; see :func:`writing`. Every method leaves a finished commit."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self._folder = folder
        self._learnt: dict[File, Trained] = {}
        self._segments: dict[Entry, Segment] = {}

    @property
    def trained(self) -> Trained | None:
        """What was learnt from a sample."""
        file = self.manifest.trained
        if file is None:
            return None
        if file not in self._learnt:
            file.check(self._folder)
            self._learnt = {file: Trained.load(self._folder / file.name)}
        return self._learnt[file]

    def train(self, sample: TokenBatch, *, tokens: int) -> None:
        """Learn from a sample of documents what an index of about so many ``tokens`` needs, before any is added."""
        if self.manifest.segments:
            raise InputError(f"the index in {self._folder} has documents already; compact it to train it again")
        settings = self.manifest.settings
        learnt = train(pool(sample, settings.pool).vectors, settings, tokens=tokens // settings.pool)
        self._commit(trained=self._keep(learnt))

    def add(
        self,
        documents: Sequence[Document],
        tokens: TokenBatch,
        distinct: Sequence[TokenIds] | None = None,
        *,
        replacing: bool = False,
        building: Mapping[str, Any] | None = None,
    ) -> None:
        """Add documents.

        Args:
            documents: ids, texts, metadata.
            tokens: their vectors, as the encoder gives them.
            distinct: the different tokens of each text, for document frequencies; those that have vectors if not given.
            replacing: delete documents that have these ids, in the same commit; else such an id is an error.
            building: how far a build is after this.
        """
        settings = self.manifest.settings
        if len(documents) != len(tokens):
            raise InputError(f"{len(tokens)} vectors of documents need as many documents, not {len(documents)}")
        if tokens.dimensions != settings.dimensions:
            raise InputError(
                f"the index takes vectors of {settings.dimensions} dimensions, not {tokens.dimensions}; "
                "encode with the model that it was built with"
            )
        if distinct is not None and len(distinct) != len(documents):
            raise InputError(f"{len(documents)} documents need as many lists of distinct tokens, not {len(distinct)}")
        if not documents:
            return
        for document in documents:
            check_storable(document)
        check_unit(tokens)
        ids = [document.id for document in documents]
        if len(set(ids)) != len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise InputError(f"document {twice!r} is added twice; ids must be unique")
        known = self._find(ids)
        if known and not replacing:
            entry, places = next(iter(known.items()))
            name = self._segment(entry).database.ids(np.array(places[:1]))[0]
            raise InputError(f"document {name!r} is in the index already; replace it, or delete it first")
        self._counts(tokens.token_ids)  # none of them lies outside the vocabulary
        counted = [
            np.unique(tokens[place].token_ids if distinct is None else distinct[place]) for place in range(len(tokens))
        ]
        added = self._counts(np.concatenate([*counted, np.empty(0, np.int32)]))
        order = sorted(range(len(ids)), key=ids.__getitem__)
        pooled = pool(tokens.take(order), settings.pool)
        learnt = self.trained
        changes: dict[str, Any] = {} if building is None else {"building": building}
        if learnt is not None and self._outgrown(OUTGROWN, len(pooled.vectors)):
            # Before they come: residuals that are rounded to what others left are lost for good.
            learnt = self._learn_again(learnt.projected(pooled).vectors.astype(np.float32, copy=False))
            known = self._find(ids)
        if learnt is None:
            learnt = train(pooled.vectors, settings, tokens=len(pooled.vectors))
            changes["trained"] = self._keep(learnt)
        ordered = [documents[n] for n in order]
        made = columns_in_parts(pooled, [counted[n] for n in order], settings, learnt)
        self._append((Rows(ordered[part], columns) for part, columns in made), added, known, **changes)

    def add_rows(self, rows: Rows, *, building: Mapping[str, Any]) -> None:
        """Add documents of a build, in the order of their ids, as rows that were made with what this index has learnt.

        Nothing is learnt again for them, as :meth:`add` may do: a build learns from a sample of all its documents.
        """
        known = self._find([document.id for document in rows.documents])
        self._append([rows], self._counts(rows.columns[DISTINCT]), known, building=building)

    def _append(
        self,
        made: Iterable[Rows],
        counts: npt.NDArray[np.int64],
        known: Mapping[Entry, Sequence[int]],
        **changes: Any,  # noqa: ANN401 -- fields of the manifest
    ) -> None:
        """Write a segment in the place of documents that are known, and commit it."""
        removed, entries = self._without(known)
        with SegmentWriter(self._folder, self._next_name(), self.manifest.settings) as segment:
            for rows in made:
                segment.append(rows)
            entries.append(segment.finish())
        self._commit(segments=tuple(entries), frequencies=self._frequencies(counts - removed), **changes)
        try:
            self._merge_small()
        except (OSError, InputError) as error:  # the documents are in all the same; the next addition tries again
            logging.getLogger("chamfer").warning("segments of %s were not merged: %s", self._folder, error)

    def delete(self, ids: Iterable[str]) -> int:
        """Delete documents, and say how many of the ids there were."""
        known = self._find(list_of_strings(ids, "ids"))
        found = sum(len(places) for places in known.values())
        if found:
            removed, entries = self._without(known)
            self._commit(segments=tuple(entries), frequencies=self._frequencies(-removed))
        return found

    def present(self, documents: Iterable[Document]) -> set[str]:
        """The ids of documents that are in the index already, word for word."""
        given = {document.id: document for document in documents}
        return {
            found.id
            for entry, places in self._find(list(given)).items()
            for found in self._segment(entry).database.documents(np.array(places))
            if stored(found) == stored(given[found.id])
        }

    def matching(self, where: Filter) -> list[str]:
        """The ids of live documents that pass a filter."""
        ids: list[str] = []
        for entry in self.manifest.segments:
            segment = self._segment(entry)
            places = segment.database.matching(where)
            ids += segment.database.ids(places if segment.deleted is None else places[~segment.deleted[places]])
        return ids

    def compact(self) -> None:
        """Make one segment of all, without the deleted documents, and train centroids anew if they were outgrown."""
        entries = self.manifest.segments
        learn = self._outgrown(2)
        if len(entries) > 1 or any(entry.dead for entry in entries) or learn:
            self._merge(entries, learn=learn)

    def set_building(self, building: Mapping[str, Any] | None) -> None:
        """Say how far a build is; None when it is complete."""
        self._commit(building=building)

    def _merge_small(self) -> None:
        """Merge the last segments while there are many of like size, so that their number grows like a logarithm."""
        while (run := like_the_last(self.manifest.segments, FAN)) >= FAN:
            entries = self.manifest.segments[-run:]
            if sum(entry.documents for entry in entries) > LARGE:
                break
            self._merge(entries)

    def _learn_again(self, coming: npt.NDArray[np.float32]) -> Trained | None:
        """Learn from what is there and from vectors that come; None where nothing is there."""
        if not self.manifest.segments:
            return None
        self._merge(self.manifest.segments, learn=True, coming=coming)
        return self.trained

    def _outgrown(self, by: float, coming: int = 0) -> bool:
        """Whether so many times as many centroids would suit, once so many tokens more are there."""
        if self.trained is None:
            return False
        # Those of segments without deleted documents are known, so that an addition costs nothing for what is there.
        whole = sum(entry.tokens for entry in self.manifest.segments if not entry.dead)
        rest = live_tokens([self._segment(entry) for entry in self.manifest.segments if entry.dead])
        return count_for(whole + rest + coming) >= by * self.trained.asked

    def _merge(
        self, entries: Sequence[Entry], *, learn: bool = False, coming: npt.NDArray[np.float32] | None = None
    ) -> None:
        """Put one segment, without deleted documents, in the place of some; or of all, with centroids learnt anew."""
        before, settings = self.trained, self.manifest.settings
        segments = [self._segment(entry) for entry in entries]
        for entry in entries:  # what is copied gets checksums of its own, which must not be those of damage
            for file in entry.files:
                file.check(self._folder / SEGMENTS / entry.name)
        changes: dict[str, Any] = {}
        learnt: Trained | None = None
        if learn and before is not None and live_tokens(segments) + (0 if coming is None else len(coming)):
            learnt = learnt_from(segments, settings, before, coming)
            changes["trained"] = self._keep(learnt)
        kept = [entry for entry in self.manifest.segments if entry not in entries]
        if any(len(segment.alive) for segment in segments):
            with SegmentWriter(self._folder, self._next_name(), settings) as writer:
                for rows in merged_rows(segments, settings, before, learnt):
                    writer.append(rows)
                kept.append(writer.finish())
        self._commit(segments=tuple(kept), **changes)

    def _find(self, ids: Sequence[str]) -> dict[Entry, list[int]]:
        """The places of live documents that have some of the ids, in each segment that has one."""
        found: dict[Entry, list[int]] = {}
        for entry in self.manifest.segments:
            segment = self._segment(entry)
            places = segment.database.places(ids).values()
            alive = [place for place in places if segment.deleted is None or not segment.deleted[place]]
            if alive:
                found[entry] = alive
        return found

    def _without(self, known: Mapping[Entry, Sequence[int]]) -> tuple[npt.NDArray[np.int64], list[Entry]]:
        """Token counts of some documents, and the segments with these deleted."""
        removed = np.zeros(self.manifest.settings.vocabulary_size, np.int64)
        entries = []
        for entry in self.manifest.segments:
            places = np.array(known.get(entry, ()), dtype=np.int64)
            if len(places):
                segment = self._segment(entry)
                rows = rows_at(segment.source.offsets["distinct"], places)
                removed += self._counts(segment.columns[DISTINCT][rows])
                deleted = np.zeros(len(segment), bool) if segment.deleted is None else segment.deleted.copy()
                deleted[places] = True
                path = self._folder / f"deleted-{entry.name}-{self._next_name()}.bits"
                with atomic_write(path) as file:
                    file.write(np.packbits(deleted).data)
                entry = replace(entry, deleted=File.of(path), dead=int(deleted.sum()))
            if entry.alive:  # else nothing of the segment is left
                entries.append(entry)
        return removed, entries

    def _counts(self, token_ids: npt.NDArray[np.integer]) -> Counts:
        return count(token_ids, self.manifest.settings.vocabulary_size)

    def _frequencies(self, change: Counts) -> File:
        before = self.manifest.frequencies
        if before is not None:
            change = change + read_counts(self._folder, before)
        return write_counts(self._folder / f"frequencies-{self._next_name()}.i64", change)

    def _keep(self, learnt: Trained) -> File:
        path = self._folder / f"trained-{self._next_name()}.safetensors"
        learnt.save(path)
        return File.of(path)

    def _next_name(self) -> str:
        return f"{self.manifest.version + 1:08d}"

    def _segment(self, entry: Entry) -> Segment:
        learnt = self.trained
        if learnt is None:
            raise InputError(f"the index in {self._folder} lacks what its segments need; build it again")
        if entry not in self._segments:
            self._segments[entry] = Segment(self._folder, entry, self.manifest.settings, learnt)
        return self._segments[entry]

    def _commit(self, **changes: Any) -> None:  # noqa: ANN401 -- fields of the manifest
        """Make changes visible, all at once, then remove what only earlier commits named."""
        manifest = replace(self.manifest, version=self.manifest.version + 1, **changes)
        try:
            write_manifest(self._folder, manifest)
        except BaseException:
            # Whether it is visible the disk knows: what comes next must not write over files of a commit that is.
            self.manifest = read_manifest(self._folder) or self.manifest
            raise
        if "trained" in changes:
            self._segments = {}
        self._segments = {entry: kept for entry, kept in self._segments.items() if entry in manifest.segments}
        self.manifest = manifest
        sweep(self._folder, manifest)
