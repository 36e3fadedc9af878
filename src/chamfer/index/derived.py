"""Files that first stages derive from a segment: made on first use, checked when opened, made again if damaged.

They are stored under a digest of what they are computed from, so that a file of another build is never used. With them
is a list of their sizes and checksums.
"""

import errno
import fcntl
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.index.damage import damaged, forbidden, missing, no_folder, truncated
from chamfer.index.manifest import SEGMENTS, Entry, File, Manifest, read_manifest
from chamfer.index.names import SEGMENT
from chamfer.index.signed import checksum, read_signed, signed
from chamfer.support.files import LOCK, UNFINISHED, errors_name, sync_file, sync_folder, unfinished_name
from chamfer.support.records import from_json, need

Content = TypeVar("Content")

DERIVED = "derived"
LIST = "files.json"
FORMAT = 1

# Files up to this size are read whole when they are opened, which takes about a millisecond; larger ones by verify.
SMALL = 1 << 20

# Our own folders. Without a digest: those of versions that named them by segment alone.
OWN = re.compile(rf"{SEGMENT}(?:-[0-9a-f]{{32}})?")
LEFT = re.compile(rf"\.[^/]+{UNFINISHED}")  # by a killed reader

# The index cannot be written by this user, or on this file system; or its folder was deleted, though it is still open.
UNWRITABLE = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENOLCK, errno.ENOTSUP)


def key_of(manifest: Manifest, entry: Entry) -> str:
    """The folder of what is derived from a segment.

    It contains a digest of all that determines these files: the segment's own files, the settings, and what was trained
    to encode it. Deletions do not matter.
    """
    trained = None if manifest.trained is None else manifest.trained.sha256
    content = {"files": entry.files, "trained": trained, "settings": manifest.settings.as_json()}
    return f"{entry.name}-{checksum(content)[:32]}"


@dataclass(frozen=True)
class Derived:
    """What is derived from one segment.

    Args:
        index: folder of the index.
        entry: entry of the segment in the manifest.
        key: see :func:`key_of`.
        opened: sizes of the files that were opened, by path.
    """

    index: Path
    entry: Entry
    key: str
    opened: dict[Path, int] = field(default_factory=dict, compare=False)

    def open(
        self,
        name: str,
        make: Callable[[Path], None],
        read: Callable[[Path], Content],
        sources: Collection[str] | None = None,
    ) -> Content:
        """Read files that are computed from the segment, after computing them if they are missing or damaged.

        Args:
            name: name of their folder; it contains every parameter and the version of the format.
            make: writes them into a given folder.
            read: opens them in a given folder, with an ``InputError`` if they are damaged. The folder may be removed
                afterwards, so files that are needed later must be open or memory-mapped.
            sources: names of those files of the segment that ``make`` reads; all by default.
        """
        folder = self.index / DERIVED / self.key / name

        def made(place: Path) -> Content:
            make(place)
            _write_list(place, self.key, name)
            return read(place)

        try:
            if folder.is_dir():
                check_derived(folder, whole=False)
                content = read(folder)
                self._remember(folder)
                return content
        except PermissionError as error:
            raise forbidden(error.filename or folder) from error
        except FileNotFoundError:
            pass  # a writer has swept it since it was checked
        except InputError as error:
            discard(folder, error)
        if self._may_be_kept(sources):
            try:
                content = self._kept(folder, made)
                self._remember(folder)
                return content
            except OSError as error:
                if error.errno not in UNWRITABLE:
                    raise
        with TemporaryDirectory(prefix="chamfer-") as place:
            return made(Path(place))

    def check_lengths(self) -> None:
        """Refuse a file that was truncated after it was opened; one that was removed is still complete."""
        for path, size in list(self.opened.items()):  # a copy, because another thread may be opening more
            with suppress(OSError):
                if path.stat().st_size < size:
                    raise truncated(path, remedy_for(path.parent))

    def _remember(self, folder: Path) -> None:
        with suppress(InputError, OSError):  # it was removed meanwhile
            self.opened.update({folder / file.name: file.bytes for file in listed_files(folder)})

    def _may_be_kept(self, sources: Collection[str] | None) -> bool:
        """Whether other readers can use what is made now: the newest commit has the segment, as it was opened.

        A damaged source is an error. The checksums of what is derived from it would hide the damage.
        """
        try:
            manifest = read_manifest(self.index)
        except InputError:
            manifest = None
        if manifest is None or self.key not in keys_of(manifest):
            return False
        try:
            for file in self.entry.files:
                if sources is None or file.name in sources:
                    file.check(self.index / SEGMENTS / self.entry.name)
        except FileNotFoundError:  # a writer has removed the segment since
            return False
        return True

    def _kept(self, folder: Path, made: Callable[[Path], Content]) -> Content:
        """Make files in a folder that gets its name when they are on disk."""
        derived = self.index / DERIVED
        _make_folder(derived)
        sweep_derived(self.index)
        with _lock(derived, fcntl.LOCK_SH), errors_name(folder):
            _make_folder(folder.parent)
            unfinished = unfinished_name(derived / folder.name)
            unfinished.mkdir()  # not by tempfile, which allows no other user to read it
            try:
                content = made(unfinished)
                for path in unfinished.iterdir():
                    sync_file(path)
                sync_folder(unfinished)
                try:
                    unfinished.rename(folder)
                except OSError as error:
                    if isinstance(error, NotADirectoryError):
                        raise no_folder(folder) from error
                    if not folder.is_dir():  # otherwise another process was faster, with the same files
                        raise
                return content
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)


def keys_of(manifest: Manifest) -> set[str]:
    """The folders of what is derived from the segments of a commit."""
    return {key_of(manifest, entry) for entry in manifest.segments}


def sweep_derived(index: Path, manifest: Manifest | None = None) -> None:
    """Remove what is derived from segments that no commit names any more, and what a killed reader left.

    Does nothing while a reader makes files.

    Args:
        index: folder of the index.
        manifest: the newest commit; read if not given.
    """
    derived = index / DERIVED
    if not derived.is_dir():
        return
    with suppress(OSError, InputError), _lock(derived, fcntl.LOCK_EX | fcntl.LOCK_NB):
        manifest = manifest or read_manifest(index)
        kept = set() if manifest is None else keys_of(manifest)
        for path in derived.iterdir():
            if (OWN.fullmatch(path.name) and path.name not in kept) or LEFT.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)


def derived_folders(index: Path, manifest: Manifest) -> Iterator[Path]:
    """The folders that readers of a commit use: one for each segment and first stage."""
    for key in sorted(keys_of(manifest)):
        folder = index / DERIVED / key
        try:
            yield from sorted(path for path in folder.iterdir() if path.is_dir())
        except FileNotFoundError:
            pass
        except NotADirectoryError as error:
            raise no_folder(folder if folder.exists() else folder.parent) from error


def discard(folder: Path, damage: InputError) -> None:
    """Remove damaged files, which will be computed again when they are needed."""
    logging.getLogger("chamfer").warning("%s is computed again: %s", folder, damage)
    shutil.rmtree(folder, ignore_errors=True)


def listed_files(folder: Path) -> tuple[File, ...]:
    """The files in one of :func:`derived_folders`; refuses a list that is missing, damaged, or of something else."""
    remedy = remedy_for(folder)
    try:
        listed = from_json(_List, read_signed(folder / LIST, "derived"))
        need(listed.format == FORMAT, "it was written by another version of chamfer")
        need((listed.key, listed.name) == (folder.parent.name, folder.name), f"it is of {listed.key}/{listed.name}")
        for file in listed.files:
            file.check_record()
    except FileNotFoundError as error:
        raise missing(folder / LIST, remedy) from error
    except ValueError as error:
        raise damaged(folder / LIST, error, remedy) from error
    return listed.files


def check_derived(folder: Path, *, whole: bool) -> None:
    """Refuse files that are missing, damaged, or derived from something else.

    Args:
        folder: one of :func:`derived_folders`.
        whole: compare all checksums, not only those of small files.
    """
    remedy = remedy_for(folder)
    for file in listed_files(folder):
        try:
            (file.check if whole or file.bytes <= SMALL else file.check_size)(folder, remedy)
        except FileNotFoundError as error:
            raise missing(folder / file.name, remedy) from error


def load_array(path: Path, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Memory-map a one-dimensional array of a type that ``np.save`` wrote, and refuse anything else."""
    try:
        values = np.asarray(np.load(path, mmap_mode="r"))
        need(values.dtype == kind and values.ndim == 1, "it has the wrong type or shape")
    except PermissionError:
        raise
    except Exception as error:  # a damaged header can raise anything, TokenError and OverflowError included
        raise damaged(path, error, remedy_for(path.parent)) from error
    return values


def remedy_for(folder: Path) -> str:
    """What to do about damaged files in a folder."""
    return f"delete {folder} to have it computed again"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError as error:
        raise no_folder(folder) from error


@dataclass(frozen=True)
class _List:
    format: int
    key: str
    name: str
    files: tuple[File, ...]


def _write_list(folder: Path, key: str, name: str) -> None:
    files = tuple(File.of(path) for path in sorted(folder.iterdir()))
    # Not atomic, since the folder has no name yet; and it must not make folders of an index that was deleted meanwhile.
    (folder / LIST).write_text(json.dumps(signed("derived", asdict(_List(FORMAT, key, name, files)))))


@contextmanager
def _lock(derived: Path, kind: int) -> Iterator[None]:
    """Lock what is derived: shared to make files, exclusive to remove them."""
    mode = os.O_RDWR if kind & fcntl.LOCK_EX else os.O_RDONLY
    try:
        handle = os.open(derived / LOCK, mode | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except IsADirectoryError as error:
        raise damaged(derived / LOCK, "it is a folder", "delete it") from error
    try:
        fcntl.flock(handle, kind)
        yield
        fcntl.flock(handle, fcntl.LOCK_UN)  # closing is not enough while a forked child has a copy of the descriptor
    finally:
        os.close(handle)
