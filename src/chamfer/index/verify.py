"""Whether an index on disk is what was committed: every byte, and what the files say of each other."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.index.columns import CENTROIDS, DISTINCT, DISTINCT_LENGTHS, LENGTHS, TOKEN_IDS, Column
from chamfer.index.manifest import MANIFEST, SEGMENTS, Entry, File, Manifest, needed_manifest, read_manifest
from chamfer.index.segment import Segment
from chamfer.index.settings import Settings
from chamfer.index.texts import TEXTS
from chamfer.index.trained import Trained
from chamfer.support.progress import Advance, Progress, quiet
from chamfer.tokens.batch import AT_A_TIME, rows_at

Numbers = npt.NDArray[np.integer]


def verify(folder: str | Path, progress: Progress = quiet) -> list[str]:
    """Read all of an index and say what is wrong with it, one sentence for each problem; none if all is well.

    Every file has the checksum that its commit gave it, columns are as long as their documents, numbers name what
    exists, ids are unique, and document frequencies are those of the documents that are there. What follows from
    segments, under ``derived``, is no part of a commit and is not looked at.

    Args:
        folder: the index; a writer may commit meanwhile.
        progress: told how many bytes were read.
    """
    folder = Path(folder)
    sound: set[Path] = set()
    while True:
        try:
            manifest = read_manifest(folder)
        except InputError as error:
            return [str(error)]
        manifest = manifest or needed_manifest(folder)
        problems = _problems(folder, manifest, sound, progress)
        # Files never change, but a commit removes those that only earlier ones name: then the later one is verified.
        if not problems or read_manifest(folder) == manifest:
            return problems


def _problems(folder: Path, manifest: Manifest, sound: set[Path], progress: Progress) -> list[str]:
    files = [*((folder, file) for file in manifest.files), *_of_segments(folder, manifest.segments)]
    with progress("verifying", sum(file.bytes for _, file in files)) as advance:
        problems = list(_damaged(files, sound, advance))
    if problems or manifest.trained is None:
        return problems
    try:
        return _inconsistent(folder, manifest, manifest.trained)
    except FileNotFoundError as error:
        return [f"{error.filename or error} is missing; delete the index and build it again"]


def _of_segments(folder: Path, entries: Iterable[Entry]) -> Iterator[tuple[Path, File]]:
    for entry in entries:
        for file in entry.files:
            yield folder / SEGMENTS / entry.name, file


def _damaged(files: Iterable[tuple[Path, File]], sound: set[Path], advance: Advance) -> Iterator[str]:
    """What is wrong with single files; those that are sound are remembered."""
    for folder, file in files:
        path = folder / file.name
        if path not in sound:
            try:
                file.check(folder)
                sound.add(path)
            except InputError as error:
                yield str(error)
            except FileNotFoundError:
                yield f"{path} is missing; delete the index and build it again"
            except OSError as error:  # a disk that fails
                yield f"{path} cannot be read ({error.strerror}); delete the index and build it again"
        advance(file.bytes)


def _inconsistent(folder: Path, manifest: Manifest, trained: File) -> list[str]:
    """What files that are whole say of each other and must not; only a bug or a forged manifest makes them."""
    learnt = Trained.load(folder / trained.name)
    problems: list[str] = []
    counts = np.zeros(manifest.settings.vocabulary_size, np.int64)
    owner: dict[str, str] = {}
    for entry in manifest.segments:
        place = folder / SEGMENTS / entry.name
        try:
            segment = Segment(folder, entry, manifest.settings, learnt)
            segment.database.check()
            ids = segment.database.all_ids()
        except InputError as error:
            problems.append(str(error))
            continue
        found = [*_wrong_columns(segment, entry, manifest.settings, len(learnt.clusters)), *_wrong_ids(ids, entry)]
        problems += [f"{place / name} is damaged: {what}; delete the index and build it again" for name, what in found]
        if found:
            continue
        counts += _recounted(segment, len(counts))
        for identifier in (ids[at] for at in segment.alive):
            if owner.setdefault(identifier, entry.name) != entry.name:
                problems.append(f"{place / TEXTS} holds {identifier!r}, as {owner[identifier]} does; add it again")
    if not problems and manifest.frequencies is not None:
        path = folder / manifest.frequencies.name
        if not np.array_equal(np.fromfile(path, np.int64), counts):
            problems.append(
                f"{path} is damaged: its counts are not those of the documents; delete the index and build it again"
            )
    return problems


def _wrong_columns(segment: Segment, entry: Entry, settings: Settings, centroids: int) -> Iterator[tuple[str, str]]:
    """The names of files, and what is wrong with each."""
    columns = segment.columns
    lengths, distinct = columns[LENGTHS], columns[DISTINCT_LENGTHS]
    for name in (LENGTHS, DISTINCT_LENGTHS):
        if (columns[name] < 0).any():
            yield name, "it holds a negative length"
    rows = {"document": entry.documents, "token": int(lengths.sum()), "distinct": int(distinct.sum())}
    if rows["token"] != entry.tokens:
        yield LENGTHS, f"its lengths add up to {rows['token']}, but {MANIFEST} counts {entry.tokens} tokens"
    for name, column in settings.columns.items():
        if len(columns[name]) != rows[column.per]:
            yield name, f"it has {len(columns[name])} rows for {rows[column.per]} {_many(column)}"
    vocabulary = settings.vocabulary_size
    for name, most in ((TOKEN_IDS, vocabulary), (DISTINCT, vocabulary), (CENTROIDS, centroids)):
        if any((part < 0).any() or (part >= most).any() for part in _cut(columns[name])):
            yield name, f"it holds numbers that are not from 0 to {most - 1}"
    if segment.deleted is not None and int(segment.deleted.sum()) != entry.dead:
        yield MANIFEST, f"it counts {entry.dead} deleted documents of {entry.name}, not {segment.deleted.sum()}"


def _wrong_ids(ids: list[str], entry: Entry) -> Iterator[tuple[str, str]]:
    if len(ids) != entry.documents:
        yield TEXTS, f"it holds {len(ids)} documents, not {entry.documents}"
    if any(first >= second for first, second in pairwise(ids)):
        yield TEXTS, "its ids do not rise"


def _recounted(segment: Segment, vocabulary: int) -> npt.NDArray[np.int64]:
    """In how many live documents of a segment each token appears."""
    counts = np.zeros(vocabulary, np.int64)
    alive = segment.alive
    for start in range(0, len(alive), AT_A_TIME):
        rows = rows_at(segment.source.offsets["distinct"], alive[start : start + AT_A_TIME])
        counts += np.bincount(segment.columns[DISTINCT][rows], minlength=vocabulary)
    return counts


def _cut(values: Numbers) -> Iterator[Numbers]:
    at_a_time = 64 * AT_A_TIME
    return (values[start : start + at_a_time] for start in range(0, len(values), at_a_time))


def _many(column: Column) -> str:
    return {"document": "documents", "token": "tokens", "distinct": "distinct tokens"}[column.per]
