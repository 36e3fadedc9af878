"""The manifest: one small file, replaced atomically, that names every file of the current commit."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from chamfer.errors import InputError
from chamfer.index.damage import REMEDY, damaged
from chamfer.index.settings import Settings
from chamfer.support.files import write_json

FORMAT = 1
MANIFEST = "index.json"
SEGMENTS = "segments"
DERIVED = "derived"
SAMPLE = ".sample"


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

    def check_size(self, folder: Path) -> None:
        """Refuse a file with the wrong size, without reading it."""
        path = folder / self.name
        found = path.stat().st_size
        if found != self.bytes:
            raise damaged(path, f"it has {found} bytes, not {self.bytes}")

    def check(self, folder: Path) -> None:
        """Refuse a file with the wrong size or checksum."""
        self.check_size(folder)
        if self.of(folder / self.name) != self:
            raise damaged(folder / self.name, "checksum mismatch")


@dataclass(frozen=True)
class Entry:
    """One segment: its files, and the documents that were deleted from it."""

    name: str
    documents: int
    tokens: int
    files: tuple[File, ...]
    deleted: File | None = None
    dead: int = 0

    @property
    def alive(self) -> int:
        """Number of live documents."""
        return self.documents - self.dead


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
        return sum(entry.alive for entry in self.segments)

    @property
    def files(self) -> list[File]:
        """All files outside the segments."""
        named = (self.trained, self.frequencies, *(entry.deleted for entry in self.segments))
        return [file for file in named if file is not None]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make a commit visible, atomically."""
    content = {"format": FORMAT, **asdict(manifest)}
    write_json(folder / MANIFEST, {"sha256": checksum(content), "index": content})


def read_manifest(folder: Path) -> Manifest | None:
    """Read the current commit; None if there is no index."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        whole = json.loads(path.read_bytes())
        content = whole["index"]
        if whole["sha256"] != checksum(content):
            raise damaged(path, "checksum mismatch")
        if content.pop("format") != FORMAT:
            raise InputError(f"{path} was written by another version of chamfer; {REMEDY}")
        return Manifest(
            **{
                **content,
                "settings": Settings(**content["settings"]),
                "trained": _file(content["trained"]),
                "frequencies": _file(content["frequencies"]),
                "segments": tuple(
                    Entry(
                        **{
                            **entry,
                            "files": tuple(File(*file) for file in entry["files"]),
                            "deleted": _file(entry["deleted"]),
                        }
                    )
                    for entry in content["segments"]
                ),
            }
        )
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path) from error


def needed_manifest(folder: Path) -> Manifest:
    """Read the current commit; it is an error if there is no index."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(_no_index(folder))
    return manifest


def is_index(folder: Path) -> bool:
    """Whether a folder holds an index, which is not read, so it may be damaged."""
    return (folder / MANIFEST).is_file()


def check_is_index(folder: Path) -> None:
    """Refuse a folder without an index."""
    if not is_index(folder):
        raise InputError(_no_index(folder))


def check_unfinished(manifest: Manifest | None, folder: Path) -> None:
    """Refuse to build an index where there is a finished one."""
    if manifest is not None and manifest.building is None and manifest.version:
        raise InputError(
            f"{folder} holds a finished index; add to it with: chamfer index add, or choose another folder"
        )


def check_finished(manifest: Manifest, folder: Path | None = None) -> None:
    """Refuse an index whose build was interrupted."""
    if manifest.building is not None:
        done, documents = manifest.building["done"], manifest.building["documents"]
        raise InputError(
            f"the index{f' in {folder}' if folder else ''} is unfinished: {done} of {documents} documents are indexed; "
            "run the same build again to finish it"
        )


def begun_build(manifest: Manifest, made_from: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Progress of the unfinished build, or of a new one; it is an error if that build is of another corpus."""
    building = dict(manifest.building or {**made_from, "done": 0})
    if {key: building.get(key) for key in made_from} != made_from:
        raise InputError(f"{folder} holds an unfinished index of another corpus; choose another folder or delete it")
    return building


def _no_index(folder: Path) -> str:
    return f"{folder} holds no index; make one with: chamfer index build"


def _file(value: list[Any] | None) -> File | None:
    return None if value is None else File(*value)


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of JSON, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
