"""Changing an index: documents are added and deleted, and segments merged, each by one commit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.cache.text_encoder import EncodedTexts
from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.additions import check_addition
from chamfer.index.clusters import count_for
from chamfer.index.columns import DISTINCT_FILE
from chamfer.index.commits import USUAL, Commits
from chamfer.index.damage import absence_is_damage
from chamfer.index.frequencies import Counts, count, read_counts, write_counts
from chamfer.index.held import Found, Held
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
from chamfer.index.merging import failure_logged, live_tokens, merged_rows, segments_to_merge, train_again
from chamfer.index.names import deleted_name, frequencies_name, segment_name, trained_name
from chamfer.index.passages import place_of
from chamfer.index.pooling import pool
from chamfer.index.rows import Rows, columns_in_parts
from chamfer.index.segment import SegmentWriter
from chamfer.index.settings import Settings
from chamfer.index.sweeping import has_orphans, sweep
from chamfer.index.trained import Trained, train
from chamfer.support.files import WriterLock, atomic_write, writer_lock
from chamfer.support.strings import list_of_strings
from chamfer.tokens.batch import TokenBatch, TokenIds, rows_at

# Centroids are trained again when their ideal number has grown by this factor: when there are sixteen times the tokens.
OUTGROWN = 4


@contextmanager
def writing(folder: Path, settings: Settings | None = None, commits: Commits = USUAL) -> Iterator["Writer"]:
    """Hold the writer lock of an index; a second writer gets an error at once.

    Args:
        folder: folder of the index.
        settings: settings to create the index with; an existing index must have the same.
        commits: what to do around the commits of additions.
    """
    if settings is None:
        needed_manifest(folder)  # before a lock file appears in a folder that is not an index
    with writer_lock(folder) as lock:
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
        writer = Writer(folder, manifest, lock, commits)
        sweep(folder, manifest)
        yield writer


class Writer:
    """Changes an index; see :func:`writing`. Every method ends with a complete commit."""

    def __init__(self, folder: Path, manifest: Manifest, lock: WriterLock, commits: Commits = USUAL) -> None:
        self._folder, self._lock, self._commits = folder, lock, commits
        self.held = Held(folder, manifest)
        """What the index holds now."""

    @property
    def manifest(self) -> Manifest:
        """The newest commit."""
        return self.held.manifest

    @property
    def trained(self) -> Trained | None:
        """Centroids, projection and residual levels; None before training."""
        return self.held.trained

    def train(self, sample: TokenBatch, *, tokens: int) -> None:
        """Train on a sample of documents, before any is added.

        Args:
            sample: vectors of the sample.
            tokens: estimated number of tokens in the finished index.
        """
        if self.manifest.segments:
            raise InputError(f"the index in {self._folder} has documents already; compact it to train it again")
        settings = self.manifest.settings
        learnt = train(pool(sample, settings.pool).vectors, settings, tokens=tokens // settings.pool)
        self._commit(trained=self._save(learnt))

    def add(
        self,
        documents: Sequence[Document],
        tokens: TokenBatch,
        distinct: Sequence[TokenIds] | None = None,
        *,
        replacing: bool = False,
        building: Mapping[str, Any] | None = None,
    ) -> int:
        """Add documents, and return how many of them replaced others.

        Args:
            documents: documents to add, which :func:`chamfer.index.texts.check_storable` accepts.
            tokens: their vectors, from the encoder.
            distinct: distinct token ids of each text, for document frequencies; by default, those with vectors.
            replacing: delete documents that have the same ids, in the same commit; otherwise such an id is an error.
            building: progress of a build after this commit.
        """
        settings = self.manifest.settings
        check_addition(documents, tokens, distinct, settings)
        if not documents:
            return 0
        ids = list(dict.fromkeys(document.id for document in documents))
        known = self.held.find(ids)
        if known and not replacing:
            raise InputError(_there(min(self.held.known(ids))))
        self._counts(tokens.token_ids)  # refuses ids outside the vocabulary
        counted = [
            np.unique(tokens[place].token_ids if distinct is None else distinct[place]) for place in range(len(tokens))
        ]
        self._counts(np.concatenate([*counted, np.empty(0, np.int32)]))
        order = sorted(range(len(documents)), key=lambda n: place_of(documents[n]))
        pooled = pool(tokens.take(order), settings.pool)
        learnt = self.trained
        changes: dict[str, Any] = {} if building is None else {"building": building}
        if learnt is not None and self._outgrown(OUTGROWN, len(pooled.vectors)):
            # Before they are added: precision that is lost by unsuitable residual levels cannot be recovered.
            learnt = self._learn_again(learnt.projected(pooled).vectors.astype(np.float32, copy=False))
            known = self.held.find(ids)
        if learnt is None:
            learnt = train(pooled.vectors, settings, tokens=len(pooled.vectors))
            changes["trained"] = self._save(learnt)
        ordered = [documents[n] for n in order]
        made = columns_in_parts(pooled, [counted[n] for n in order], settings, learnt)
        self._append((Rows(ordered[part], columns) for part, columns in made), known, **changes)
        return sum(map(len, known.values()))

    def add_long(self, parts: Iterable[tuple[Sequence[Document], EncodedTexts]], *, replacing: bool = False) -> int:
        """Add a document that has too many passages to have all their vectors in memory; see :meth:`add`.

        It is one commit, and nothing is trained again for it.

        Args:
            parts: some of its passages after the other with their vectors, made when they are read.
            replacing: as in :meth:`add`.
        """
        made = self._long_rows(parts)
        return self.add_rows(next(made), made, replacing=replacing)

    def _long_rows(self, parts: Iterable[tuple[Sequence[Document], EncodedTexts]]) -> Iterator[Rows]:
        settings = self.manifest.settings
        for documents, (tokens, distinct, _) in parts:
            check_addition(documents, tokens, distinct, settings)
            pooled = pool(tokens, settings.pool)
            if self.trained is None:
                self._commit(trained=self._save(train(pooled.vectors, settings, tokens=len(pooled.vectors))))
            learnt = self.trained
            assert learnt is not None
            for part, columns in columns_in_parts(pooled, distinct, settings, learnt):
                yield Rows(documents[part], columns)

    def add_rows(
        self,
        rows: Rows,
        more: Iterable[Rows] = (),
        *,
        building: Mapping[str, Any] | None = None,
        replacing: bool = True,
    ) -> int:
        """Add rows that are sorted and computed with this index's centroids; returns how many documents were replaced.

        Unlike :meth:`add`, this never trains again: a build trains on a sample of all its documents.

        Args:
            rows: the rows.
            more: further passages of the same document, which are made while they are written.
            building: progress of a build after this commit.
            replacing: as in :meth:`add`.
        """
        known = self.held.find([document.id for document in rows.documents])
        if known and not replacing:
            raise InputError(_there(rows.documents[0].id))
        changes = {} if building is None else {"building": building}
        self._append(chain([rows], more), known, **changes)
        return sum(map(len, known.values()))

    def _append(
        self,
        made: Iterable[Rows],
        known: Found,
        **changes: Any,  # noqa: ANN401 -- fields of the manifest
    ) -> None:
        """Write a segment, delete documents that it replaces, and commit."""
        removed, entries = self._without(known)
        counts = -removed
        with SegmentWriter(self._folder, segment_name(self._next), self.manifest.settings) as segment:
            for rows in made:
                segment.append(rows)
                counts += self._counts(rows.columns[DISTINCT_FILE])
            entries.append(segment.finish())
        self._commits.check()
        self._commit(segments=tuple(entries), frequencies=self._frequencies(counts), **changes)
        if self._commits.merges:
            self.merge_small()

    def delete(self, ids: Iterable[str]) -> int:
        """Delete documents, and return how many of the ids existed."""
        known = self.held.find(list_of_strings(ids, "ids"))
        found = sum(map(len, known.values()))
        if found:
            removed, entries = self._without(known)
            self._commit(segments=tuple(entries), frequencies=self._frequencies(-removed))
        return found

    def compact(self) -> None:
        """Merge all segments into one, without deleted documents; retrain centroids that the index has outgrown."""
        entries, learn = self.manifest.segments, self._outgrown(2)
        if len(entries) > 1 or any(entry.dead for entry in entries) or learn:
            self._merge(entries, learn=learn)

    def set_building(self, building: Mapping[str, Any] | None) -> None:
        """Record the progress of a build; None when it is complete."""
        self._commit(building=building)

    def merge_small(self) -> None:
        """Merge the newest segments while many of them have a similar size; a failure is logged."""
        with failure_logged(self._folder):
            while entries := segments_to_merge(self.manifest.segments):
                self._merge(entries)

    def _learn_again(self, coming: npt.NDArray[np.float32]) -> Trained | None:
        """Train again on the index and on vectors that will be added; None if the index is empty."""
        if not self.manifest.segments:
            return None
        self._merge(self.manifest.segments, learn=True, coming=coming)
        return self.trained

    def _outgrown(self, by: float, coming: int = 0) -> bool:
        """Whether the ideal number of centroids has grown by a factor, with ``coming`` more tokens."""
        if self.trained is None:
            return False
        # The manifest has the tokens of segments without deletions, so that an addition need not open them.
        whole = sum(entry.tokens for entry in self.manifest.segments if not entry.dead)
        rest = live_tokens([self.held.segment(entry) for entry in self.manifest.segments if entry.dead])
        return count_for(whole + rest + coming) >= by * self.trained.asked

    def _merge(
        self, entries: Sequence[Entry], *, learn: bool = False, coming: npt.NDArray[np.float32] | None = None
    ) -> None:
        """Replace segments by one without deleted documents; or all of them, with new centroids."""
        before, settings = self.trained, self.manifest.settings
        segments = [self.held.segment(entry) for entry in entries]
        for entry in entries:  # copies get new checksums, which must not hide damage
            for file in entry.files:
                with absence_is_damage():
                    file.check(self._folder / SEGMENTS / entry.name)
        changes: dict[str, Any] = {}
        learnt: Trained | None = None
        if learn and before is not None and live_tokens(segments) + (0 if coming is None else len(coming)):
            learnt = train_again(segments, settings, before, coming)
            changes["trained"] = self._save(learnt)
        kept = [entry for entry in self.manifest.segments if entry not in entries]
        if any(len(segment.alive) for segment in segments):
            with SegmentWriter(self._folder, segment_name(self._next), settings) as writer:
                for rows in merged_rows(segments, settings, before, learnt):
                    writer.append(rows)
                    del rows
                kept.append(writer.finish())
        self._commit(segments=tuple(kept), **changes)

    def _without(self, known: Found) -> tuple[npt.NDArray[np.int64], list[Entry]]:
        """Token counts of some documents, and the entries of all segments after their deletion."""
        removed = np.zeros(self.manifest.settings.vocabulary_size, np.int64)
        entries = []
        for entry in self.manifest.segments:
            ids = known.get(entry, {})
            places = np.array([place for own in ids.values() for place in own], np.int64)
            if len(places):
                segment = self.held.segment(entry)
                rows = rows_at(segment.source.offsets["distinct"], places)
                removed += self._counts(segment.columns[DISTINCT_FILE][rows])
                deleted = np.zeros(len(segment), bool) if segment.deleted is None else segment.deleted.copy()
                deleted[places] = True
                path = self._folder / deleted_name(entry.name, self._next)
                with atomic_write(path) as file:
                    file.write(np.packbits(deleted).data)
                whole = entry.whole and replace(entry.whole, dead=entry.whole.dead + len(ids))
                entry = replace(entry, deleted=File.of(path), dead=int(deleted.sum()), whole=whole)
            if entry.alive:  # otherwise the segment is empty
                entries.append(entry)
        return removed, entries

    def _counts(self, token_ids: npt.NDArray[np.integer]) -> Counts:
        return count(token_ids, self.manifest.settings.vocabulary_size)

    def _frequencies(self, change: Counts) -> File:
        before = self.manifest.frequencies
        if before is not None:
            with absence_is_damage():
                change = change + read_counts(self._folder, before)
        return write_counts(self._folder / frequencies_name(self._next), change)

    def _save(self, learnt: Trained) -> File:
        path = self._folder / trained_name(self._next)
        learnt.save(path)
        return File.of(path)

    @property
    def _next(self) -> int:
        """The number of the next commit. All new files are named after it, so nothing is written without the lock."""
        self._lock.check()
        return self.manifest.version + 1

    def _commit(self, **changes: Any) -> None:  # noqa: ANN401 -- fields of the manifest
        """Commit changes, then remove files that only earlier commits named."""
        manifest = replace(self.manifest, version=self._next, **changes)
        try:
            write_manifest(self._folder, manifest)
        except BaseException:
            # The commit may be on disk or not. Read it back, so that later writes never overwrite files of a commit.
            self.held = Held(self._folder, read_manifest(self._folder) or self.manifest)
            raise
        self.held.follow(manifest)
        sweep(self._folder, manifest)


def _there(identifier: str) -> str:
    return (
        f"document {identifier!r} is in the index already, with another text or metadata; replace it with replace=True "
        "(--replace on the command line), or delete it first"
    )
