"""Splitting an index into shards: rows are copied, nothing is encoded again, and a version appears atomically."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.index.columns import DISTINCT_FILE
from chamfer.index.frequencies import write_counts
from chamfer.index.manifest import (
    MANIFEST,
    SEGMENTS,
    File,
    Manifest,
    check_finished,
    needed_manifest,
    read_manifest,
    write_manifest,
)
from chamfer.index.merging import merged_rows
from chamfer.index.names import frequencies_name, segment_name, trained_name
from chamfer.index.segment import SegmentWriter
from chamfer.index.shards import (
    CURRENT,
    Part,
    ShardSet,
    ShardVersion,
    current_version,
    holds_shards,
    owner_of,
    read_set,
    use_version,
    version_folder,
    write_set,
)
from chamfer.index.snapshot import Snapshot
from chamfer.support.files import LOCK, UNFINISHED, sync_folder, writer_lock
from chamfer.support.progress import Progress, quiet

Places = npt.NDArray[np.int64]

# A shard has a single commit, with the names that a writer would use for it.
COMMIT = 1
SEGMENT, TRAINED, FREQUENCIES = segment_name(COMMIT), trained_name(COMMIT), frequencies_name(COMMIT)
OWN = re.compile(r"\.?[0-9]{8}")
UNFINISHED_LIST = re.compile(rf"\.{re.escape(CURRENT)}{UNFINISHED}")
# What an interrupted first split may have left.
OURS = re.compile(rf"{OWN.pattern}|{UNFINISHED_LIST.pattern}|{re.escape(LOCK)}")
# The previous version is kept: a server may still use it, and a replica that restarts opens it again.
KEPT = 2


def split_index(folder: str | Path, out: str | Path, *, shards: int, progress: Progress = quiet) -> ShardSet:
    """Split an index into shards, as a new version of the set in a folder; servers of that folder switch to it.

    Deleted documents are not copied. A version takes as much disk space as the index; the two newest are kept.

    Args:
        folder: folder of the index, which is not changed; a writer may commit to it meanwhile.
        out: folder of the shards.
        shards: number of shards; it cannot change between versions.
        progress: progress reporting.
    """
    folder, out = Path(folder), Path(out)
    check_finished(needed_manifest(folder), folder)
    if shards < 1:
        raise InputError(f"the number of shards must be at least 1, not {shards}")
    if (out / MANIFEST).exists():
        raise InputError(f"{out} holds an index; choose an empty folder for the shards")
    if not holds_shards(out) and out.is_dir() and any(not OURS.fullmatch(path.name) for path in out.iterdir()):
        raise InputError(f"{out} holds something else; choose an empty folder for the shards")
    with writer_lock(out):
        last = 0
        if holds_shards(out):
            before = current_version(out)
            last = before.number
            if len(read_set(out, before).shards) != shards:
                raise InputError(
                    f"{out} holds {len(read_set(out, before).shards)} shards, and a server relies on their number; "
                    "keep that number, or choose another folder"
                )
        unfinished = out / f".{last + 1:08d}"
        shutil.rmtree(version_folder(out, last + 1), ignore_errors=True)  # left by a crash
        try:
            whole, version = _write_newest(folder, shards, unfinished, last + 1, progress)
            unfinished.rename(version_folder(out, last + 1))
            sync_folder(out)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        use_version(out, version)
        for path in out.iterdir():
            if OWN.fullmatch(path.name) and int(path.name.lstrip(".")) <= last + 1 - KEPT:
                shutil.rmtree(path, ignore_errors=True)
            elif UNFINISHED_LIST.fullmatch(path.name):
                path.unlink(missing_ok=True)
    return whole


def _write_newest(
    folder: Path, shards: int, unfinished: Path, number: int, progress: Progress
) -> tuple[ShardSet, ShardVersion]:
    """Write a version from the newest commit of an index, which a writer may change meanwhile."""
    while True:
        shutil.rmtree(unfinished, ignore_errors=True)
        index = Snapshot.open(folder)
        try:
            whole = _write(index, _chosen(index, shards), unfinished, number, progress)
            return whole, write_set(unfinished, whole)
        except (InputError, OSError):
            if read_manifest(folder) == index.manifest:  # otherwise a writer may have removed files
                raise


def _chosen(index: Snapshot, shards: int) -> list[list[Places]]:
    """For each shard, the places of its documents in each segment."""
    chosen: list[list[Places]] = [[] for _ in range(shards)]
    for segment in index.segments:
        ids = segment.database.all_ids()
        alive = segment.alive
        owners = np.array([owner_of(ids[place], shards) for place in alive.tolist()], np.int64)
        for number in range(shards):
            chosen[number].append(alive[owners == number])
    return chosen


def _write(index: Snapshot, chosen: list[list[Places]], folder: Path, number: int, progress: Progress) -> ShardSet:
    manifest = index.manifest
    assert manifest.trained is not None
    for entry in manifest.segments:  # copies get new checksums, which must not hide damage
        for file in entry.files:
            file.check(index.folder / SEGMENTS / entry.name)
    folder.mkdir()
    index.trained.save(folder / TRAINED)
    counts = np.zeros(manifest.settings.vocabulary_size, np.int64)
    parts = []
    with progress("copying documents", manifest.documents) as advance:
        for place, places in enumerate(chosen):
            shard = folder / f"shard-{place:02d}"
            written, own = _write_shard(index, places, shard)
            counts += own
            parts.append(Part(shard.name, written.documents, COMMIT))
            advance(written.documents)
    if not np.array_equal(counts, index.frequencies.counts):
        raise InputError(
            f"the document frequencies of {index.folder} do not match its documents; build the index again"
        )
    return ShardSet(
        number,
        manifest.settings,
        File.of(folder / TRAINED),
        write_counts(folder / FREQUENCIES, counts),
        manifest.documents,
        tuple(parts),
        (index.name, manifest.version),
        None if manifest.settings.passages is None else manifest.rows,
    )


def _write_shard(index: Snapshot, places: Sequence[Places], folder: Path) -> tuple[Manifest, npt.NDArray[np.int64]]:
    """Write an index of some documents; returns its commit, and how many of them contain each token."""
    settings = index.settings
    counts = np.zeros(settings.vocabulary_size, np.int64)
    entries = []
    folder.mkdir()
    if sum(map(len, places)):  # a small index may leave a shard empty
        with SegmentWriter(folder, SEGMENT, settings) as segment:
            for rows in merged_rows(index.segments, settings, None, None, places):
                segment.append(rows)
                counts += np.bincount(rows.columns[DISTINCT_FILE], minlength=len(counts))
            entries.append(segment.finish())
    os.link(folder.parent / TRAINED, folder / TRAINED)
    frequencies = write_counts(folder / FREQUENCIES, counts)
    manifest = Manifest(COMMIT, settings, File.of(folder / TRAINED), frequencies, tuple(entries))
    write_manifest(folder, manifest)
    return manifest, counts
