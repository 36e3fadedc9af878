"""Verification of an index on disk: checksums of all files, and consistency between them."""

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.index.columns import (
    CENTROIDS_FILE,
    DISTINCT_FILE,
    DISTINCT_LENGTHS_FILE,
    LENGTHS_FILE,
    TOKEN_IDS_FILE,
    Column,
)
from chamfer.index.damage import REMEDY, damaged, forbidden, missing
from chamfer.index.derived import check_derived, derived_folders
from chamfer.index.manifest import MANIFEST, SEGMENTS, Entry, File, Manifest, needed_manifest, read_manifest
from chamfer.index.segment import Segment
from chamfer.index.settings import Settings
from chamfer.index.soundness import files_of
from chamfer.index.texts import TEXTS
from chamfer.index.trained import Trained
from chamfer.support.progress import Advance, Progress, quiet
from chamfer.tokens.batch import AT_A_TIME, rows_at

Numbers = npt.NDArray[np.integer]


def verify(folder: str | Path, progress: Progress = quiet) -> list[str]:
    """Read every file of an index, and return one sentence per problem.

    Checks the checksum of every file, the lengths of columns, the ranges of ids, that document ids are unique, and
    the document frequencies. Files that first stages derived from the segments are checked too.

    Args:
        folder: folder of the index; a writer may commit meanwhile.
        progress: progress reporting, in bytes.
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
        # A commit removes files that only earlier commits name. If that happened, verify the newer commit.
        if not problems or read_manifest(folder) == manifest:
            return problems


def _problems(folder: Path, manifest: Manifest, sound: set[Path], progress: Progress) -> list[str]:
    files = list(files_of(folder, manifest))
    with progress("verifying", sum(file.bytes for _, file in files)) as advance:
        problems = list(_damaged(files, sound, advance))
    if not problems and manifest.trained is not None:
        try:
            problems = _inconsistent(folder, manifest, manifest.trained)
        except FileNotFoundError as error:
            problems = [str(missing(error.filename or error))]
    return [*problems, *_derived_problems(folder, manifest, progress)]


def _derived_problems(index: Path, manifest: Manifest, progress: Progress) -> Iterator[str]:
    try:
        folders = list(derived_folders(index, manifest))
    except InputError as error:
        yield str(error)
        return
    with progress("verifying derived files", len(folders)) as advance:
        for folder in folders:
            try:
                check_derived(folder, whole=True)
            except InputError as error:
                if folder.is_dir():  # otherwise a reader has found the damage too
                    yield str(error)
            except OSError as error:
                yield _unreadable(error.filename or folder, error)
            advance(1)


def _damaged(files: Iterable[tuple[Path, File]], sound: set[Path], advance: Advance) -> Iterator[str]:
    """Problems with single files; remembers the files that are sound."""
    for folder, file in files:
        path = folder / file.name
        if path not in sound:
            try:
                file.check(folder)
                sound.add(path)
            except InputError as error:
                yield str(error)
            except FileNotFoundError:
                yield str(missing(path))
            except OSError as error:
                yield _unreadable(path, error)
        advance(file.bytes)


def _unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return str(forbidden(path))
    return f"{path} cannot be read ({error.strerror}); {REMEDY}"  # a failing disk


def _inconsistent(folder: Path, manifest: Manifest, trained: File) -> list[str]:
    """Contradictions between intact files, which only a bug or a forged manifest can cause."""
    learnt = Trained.load(folder / trained.name, manifest.settings)
    problems: list[str] = []
    counts = np.zeros(manifest.settings.vocabulary_size, np.int64)
    owner: dict[str, str] = {}
    for entry in manifest.segments:
        place = folder / SEGMENTS / entry.name
        try:
            segment = Segment(folder, entry, manifest, learnt)
            segment.database.check()
            ids = segment.database.all_ids()
            numbers = segment.database.numbers() if entry.whole is not None else [(1, 1)] * len(ids)
        except InputError as error:
            problems.append(str(error))
            continue
        found = list(_wrong_columns(segment, entry, manifest.settings, len(learnt.clusters)))
        found += _wrong_ids(ids, numbers, entry)
        problems += [str(damaged(place / name, what)) for name, what in found]
        if found:
            continue
        counts += _recounted(segment, len(counts))
        for identifier in {ids[at] for at in segment.alive}:
            if owner.setdefault(identifier, entry.name) != entry.name:
                problems.append(f"{place / TEXTS} holds {identifier!r}, as {owner[identifier]} does; add it again")
    if not problems and manifest.frequencies is not None:
        path = folder / manifest.frequencies.name
        if not np.array_equal(np.fromfile(path, np.int64), counts):
            problems.append(str(damaged(path, "its counts do not match the documents")))
    return problems


def _wrong_columns(segment: Segment, entry: Entry, settings: Settings, centroids: int) -> Iterator[tuple[str, str]]:
    """Names of damaged files, and what is wrong with each."""
    columns = segment.columns
    lengths, distinct = columns[LENGTHS_FILE], columns[DISTINCT_LENGTHS_FILE]
    for name in (LENGTHS_FILE, DISTINCT_LENGTHS_FILE):
        if (columns[name] < 0).any():
            yield name, "it holds a negative length"
    rows = {"document": entry.documents, "token": int(lengths.sum()), "distinct": int(distinct.sum())}
    if rows["token"] != entry.tokens:
        yield LENGTHS_FILE, f"its lengths add up to {rows['token']}, but {MANIFEST} counts {entry.tokens} tokens"
    for name, column in settings.columns.items():
        if len(columns[name]) != rows[column.per]:
            yield name, f"it has {len(columns[name])} rows for {rows[column.per]} {_many(column)}"
    vocabulary = settings.vocabulary_size
    for name, most in ((TOKEN_IDS_FILE, vocabulary), (DISTINCT_FILE, vocabulary), (CENTROIDS_FILE, centroids)):
        if any((part < 0).any() or (part >= most).any() for part in _cut(columns[name])):
            yield name, f"it holds numbers outside 0 to {most - 1}"
    if segment.deleted is not None and int(segment.deleted.sum()) != entry.dead:
        yield MANIFEST, f"it counts {entry.dead} deleted documents of {entry.name}, not {segment.deleted.sum()}"


def _wrong_ids(ids: list[str], numbers: list[tuple[int, int]], entry: Entry) -> Iterator[tuple[str, str]]:
    """What is wrong with ids, and with the numbers of passages: those of a document are numbered from 1."""
    if len(ids) != entry.documents:
        yield TEXTS, f"it holds {len(ids)} documents, not {entry.documents}"
    pairs = list(zip(ids, numbers, strict=True))
    if any(first >= second for first, second in pairwise(pairs)):
        yield TEXTS, "its ids are not sorted"
    if entry.whole is None:
        return
    counts = {identifier: len(list(passages)) for identifier, passages in groupby(ids)}
    if any(of != counts[identifier] or not 1 <= number <= of for identifier, (number, of) in pairs):
        yield TEXTS, "passages of a document are missing"
    if len(counts) != entry.counted.documents:
        yield MANIFEST, f"it counts {entry.counted.documents} whole documents of {entry.name}, not {len(counts)}"


def _recounted(segment: Segment, vocabulary: int) -> npt.NDArray[np.int64]:
    """Number of live documents of a segment that contain each token."""
    counts = np.zeros(vocabulary, np.int64)
    alive = segment.alive
    for start in range(0, len(alive), AT_A_TIME):
        rows = rows_at(segment.source.offsets["distinct"], alive[start : start + AT_A_TIME])
        counts += np.bincount(segment.columns[DISTINCT_FILE][rows], minlength=vocabulary)
    return counts


def _cut(values: Numbers) -> Iterator[Numbers]:
    at_a_time = 64 * AT_A_TIME
    return (values[start : start + at_a_time] for start in range(0, len(values), at_a_time))


def _many(column: Column) -> str:
    return {"document": "documents", "token": "tokens", "distinct": "distinct tokens"}[column.per]
