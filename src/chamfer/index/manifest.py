"""The manifest: one small file, replaced atomically, that names every file of the current commit."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from chamfer.cache.manifest import encoded_in
from chamfer.errors import InputError
from chamfer.index.columns import KINDS
from chamfer.index.damage import REMEDY, damaged, forbidden
from chamfer.index.names import DELETED, FREQUENCIES, MOST_COMMITS, PLAIN, SEGMENT, TRAINED
from chamfer.index.settings import PASSAGES, Settings, without
from chamfer.index.signed import read_signed, write_signed
from chamfer.index.texts import TEXTS
from chamfer.support.records import from_json, need

FORMAT = 1
MANIFEST = "index.json"
SEGMENTS = "segments"
SAMPLE = ".sample"
WHOLE = "whole"


class UnfinishedError(InputError):
    """The build of an index was interrupted, or goes on."""


class File(NamedTuple):
    """A file of a commit: name, size and checksum."""

    name: str
    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Measure a file that was just written."""
        with path.open("rb") as file:
            return cls(path.name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())

    def check_size(self, folder: Path, remedy: str = REMEDY) -> None:
        """Refuse a file with the wrong size, without reading it."""
        path = folder / self.name
        found = path.stat().st_size
        if found != self.bytes:
            raise damaged(path, f"it has {found} bytes, not {self.bytes}", remedy)

    def check(self, folder: Path, remedy: str = REMEDY) -> None:
        """Refuse a file with the wrong size or checksum."""
        self.check_size(folder, remedy)
        if self.of(folder / self.name) != self:
            raise damaged(folder / self.name, "checksum mismatch", remedy)

    def check_record(self, names: str = PLAIN) -> None:
        """Refuse a name that does not match a pattern, before it becomes part of a path; and impossible numbers."""
        need(re.fullmatch(names, self.name), f"a file cannot be named {self.name!r}")
        need(self.bytes >= 0, f"{self.name} cannot have {self.bytes} bytes")
        need(re.fullmatch("[0-9a-f]{64}", self.sha256), f"the checksum of {self.name} must be SHA-256 in hexadecimal")


@dataclass(frozen=True)
class Whole:
    """The documents whose passages a segment holds, and how many of them were deleted."""

    documents: int
    dead: int = 0


@dataclass(frozen=True)
class Entry:
    """One segment: its files, and the documents that were deleted from it.

    In an index of passages, every passage counts as a document of the segment, and ``whole`` counts whole documents.
    """

    name: str
    documents: int
    tokens: int
    files: tuple[File, ...]
    deleted: File | None = None
    dead: int = 0
    whole: Whole | None = None

    @property
    def alive(self) -> int:
        """Number of live documents, or of live passages."""
        return self.documents - self.dead

    @property
    def counted(self) -> Whole:
        """The number of whole documents, and how many of them were deleted."""
        return self.whole or Whole(self.documents, self.dead)

    def check_record(self, settings: Settings) -> None:
        """Refuse an entry that no writer writes, in an index with these settings."""
        need(re.fullmatch(SEGMENT, self.name), f"a segment cannot be named {self.name!r}")
        need(0 <= self.dead <= self.documents and self.tokens >= 0, f"the counts of {self.name} must not be negative")
        for file in self.files:
            file.check_record()
        sizes = {file.name: file.bytes for file in self.files}
        need(
            sizes.keys() == {*settings.columns, TEXTS} and len(sizes) == len(self.files),
            f"{self.name} must have one file for each column",
        )
        rows = {"document": self.documents, "token": self.tokens}
        for name, column in settings.columns.items():
            row = column.width * np.dtype(KINDS[name.rpartition(".")[2]]).itemsize
            fits = sizes[name] == rows[column.per] * row if column.per in rows else sizes[name] % row == 0
            need(fits, f"{name} of {self.name} cannot have {sizes[name]} bytes")
        need((self.whole is None) == (settings.passages is None), f"{self.name} must count whole documents, or none")
        whole = self.counted
        need(0 <= whole.dead <= whole.documents <= self.documents, f"{self.name} counts too many documents")
        need(bool(self.dead) == (self.deleted is not None), f"{self.name} must name its deleted documents")
        if self.deleted is not None:
            self.deleted.check_record(DELETED)
            need(
                self.deleted.bytes == -(-self.documents // 8), f"{self.deleted.name} must have a bit for each document"
            )


@dataclass(frozen=True)
class _Building:
    documents: int
    corpus: str
    done: int


@dataclass(frozen=True)
class Manifest:
    """One commit.

    Args:
        version: number of the commit.
        settings: how documents are stored.
        trained: centroids, projection and residual levels; None before the first document.
        frequencies: number of live documents that contain each token; None before the first document.
        segments: segments, oldest first.
        building: corpus and progress of an unfinished build; None otherwise.
    """

    version: int
    settings: Settings
    trained: File | None = None
    frequencies: File | None = None
    segments: tuple[Entry, ...] = ()
    building: Mapping[str, Any] | None = None

    @property
    def documents(self) -> int:
        """Number of live documents."""
        return sum(entry.counted.documents - entry.counted.dead for entry in self.segments)

    @property
    def rows(self) -> int:
        """Number of live documents, or of their passages: what is searched, and what frequencies count."""
        return sum(entry.alive for entry in self.segments)

    def as_json(self) -> dict[str, Any]:
        """As JSON; an index without passages is written as by versions that knew none."""
        content = {**asdict(self), "settings": self.settings.as_json()}
        if self.settings.passages is None:
            content["segments"] = [without(entry, WHOLE) for entry in content["segments"]]
        return content

    @property
    def files(self) -> list[File]:
        """All files outside the segments."""
        named = (self.trained, self.frequencies, *(entry.deleted for entry in self.segments))
        return [file for file in named if file is not None]

    def check_record(self) -> None:
        """Refuse a manifest that no writer writes. Its checksum is right, so it was forged."""
        need(0 <= self.version < MOST_COMMITS, f"version must be 0 or more, and below {MOST_COMMITS}")
        names = [entry.name for entry in self.segments]
        need(len({*names}) == len(names), "segments must have different names")
        if self.trained is not None:
            self.trained.check_record(TRAINED)
        if self.frequencies is not None:
            self.frequencies.check_record(FREQUENCIES)
            need(self.frequencies.bytes == 8 * self.settings.vocabulary_size, "there is one frequency for each token")
        need(not names or None not in (self.trained, self.frequencies), "segments need centroids and frequencies")
        for entry in self.segments:
            entry.check_record(self.settings)
        if self.building is not None:
            begun = from_json(_Building, self.building)
            need(0 <= begun.done <= begun.documents, f"{begun.done} of {begun.documents} documents cannot be done")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make a commit visible, atomically."""
    write_signed(folder / MANIFEST, "index", {"format": FORMAT, **manifest.as_json()})


def read_manifest(folder: Path) -> Manifest | None:
    """Read the current commit; None if there is no index."""
    path = folder / MANIFEST
    try:
        if not path.is_file():
            return None
        content = read_signed(path, "index")
        known = content.pop("format", None) == FORMAT
        manifest = from_json(Manifest, with_defaults(content)) if known else None
        if manifest is not None:
            manifest.check_record()
    except PermissionError as error:
        raise forbidden(path) from error
    except ValueError as error:
        raise damaged(path, error) from error
    if manifest is None:
        raise InputError(f"{path} was written by another version of chamfer; {REMEDY}")
    return manifest


def with_defaults(content: dict[str, Any]) -> dict[str, Any]:
    """JSON with what an index without passages does not record; for what is not JSON of a manifest, the same."""
    settings, segments = content.get("settings"), content.get("segments")
    if isinstance(settings, dict) and isinstance(segments, list | None) and PASSAGES not in settings:
        entries = [{WHOLE: None, **entry} if isinstance(entry, dict) else entry for entry in segments or ()]
        changed = {"settings": {PASSAGES: None, **settings}}
        return content | changed | ({"segments": entries} if segments is not None else {})
    return content


def needed_manifest(folder: Path) -> Manifest:
    """Read the current commit; it is an error if there is no index."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(_no_index(folder))
    return manifest


def missing_segments(folder: Path, manifest: Manifest) -> list[str]:
    """The segments of the current commit that are not on disk; none if there is a newer commit.

    Args:
        folder: folder of the index.
        manifest: the commit that is read.
    """

    def missing() -> list[str]:
        there = {path.name for path in (folder / SEGMENTS).iterdir()} if (folder / SEGMENTS).is_dir() else set()
        return [entry.name for entry in manifest.segments if entry.name not in there]

    found = missing()
    return found if found and read_manifest(folder) == manifest else []


def is_index(folder: Path) -> bool:
    """Whether a folder holds an index, which is not read, so it may be damaged."""
    return (folder / MANIFEST).is_file()


def check_is_index(folder: Path) -> None:
    """Refuse a folder without an index."""
    if not is_index(folder):
        raise InputError(_no_index(folder))


def check_unfinished(manifest: Manifest | None, folder: Path) -> None:
    """Refuse to build an index where there is a finished one, or among files that belong to none."""
    if manifest is not None and manifest.building is None and manifest.version:
        raise InputError(
            f"{folder} holds a finished index; update it with: chamfer index add {folder} FILE --replace (in Python "
            "Index.open(folder).add), or delete the folder to build it again"
        )
    # The lock of a build that was killed before its first commit is hidden, as are the files of file managers.
    if manifest is None and folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise InputError(f"{folder} is not empty, but holds no index; choose a new or an empty folder")


def check_finished(manifest: Manifest, folder: Path | None = None) -> None:
    """Refuse an index whose build was interrupted."""
    if manifest.building is not None:
        raise UnfinishedError(
            f"the index{f' in {folder}' if folder else ''} is unfinished: {so_far(manifest, folder)}; "
            "run the same build again to finish it"
        )


def so_far(manifest: Manifest | None, folder: Path | None = None) -> str:
    """How far a build has got: what is committed, which is all that a search could ever find.

    Args:
        manifest: the current commit; None if there is none yet.
        folder: folder of the index, which may hold an encoded sample.
    """
    if manifest is None or (manifest.building is None and not manifest.version):
        return "no document is indexed yet"
    if manifest.building is None:
        return f"all {manifest.documents:,} documents are indexed"
    done, documents = manifest.building["done"], manifest.building["documents"]
    text = f"{done:,} of {documents:,} documents are indexed"
    sample = 0 if done or folder is None else encoded_in(folder / SAMPLE)
    return f"{text}, and {sample:,} are encoded already" if sample else text


def begun_build(manifest: Manifest, made_from: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Progress of the unfinished build, or of a new one; it is an error if that build is of another corpus."""
    building = dict(manifest.building or {**made_from, "done": 0})
    if {key: building.get(key) for key in made_from} != made_from:
        raise InputError(f"{folder} holds an unfinished index of another corpus; choose another folder or delete it")
    return building


def _no_index(folder: Path) -> str:
    if folder.is_file():
        return f"{folder} is a file, not the folder of an index; make one with: chamfer index build"
    return f"{folder} holds no index; make one with: chamfer index build"
