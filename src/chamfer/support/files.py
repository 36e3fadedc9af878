"""Atomic writes, and a lock that lets one process at a time write to a folder."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from chamfer.errors import InputError

LOCK = ".lock"
"""Name of the lock file in a folder."""

UNFINISHED = r"\.[0-9]+-[0-9a-f]{8}"
"""Pattern of what :func:`unfinished_name` adds to a name, for those who remove what a killed process has left."""


def unfinished_name(path: Path) -> Path:
    """A hidden name for a file or folder until it is complete, different in every process and thread."""
    return path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}")


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing; it replaces ``path`` only once all of it is on disk.

    Until then, and after an error, ``path`` stays as it was.
    """
    path = Path(os.path.realpath(path))  # a symbolic link stays one, and its target is replaced
    make_folder(path.parent)
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe: there is nothing to replace
        with path.open("wb") as file:
            yield file
        return
    unfinished = unfinished_name(path)
    try:
        with errors_name(path):
            with unfinished.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
            sync_folder(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def append_bytes(path: Path, content: bytes) -> None:
    """Append to a file and flush it to disk. A crash may leave part of the content behind."""
    with errors_name(path), path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def errors_name(path: Path) -> Iterator[None]:
    """Name a file in errors that name none, such as that for a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents; a power failure right after a write to it does not undo that."""
    new = list(takewhile(lambda path: not path.exists(), (folder, *folder.parents)))
    folder.mkdir(parents=True, exist_ok=True)
    for path in new:
        sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Flush a finished file to disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk; without this, a power failure may undo the renaming of a file in it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_write(path) as file:
        file.write(text.encode())


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 -- JSON
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


class InUseError(InputError):
    """Another process is writing to the folder."""


class WriterLock:
    """A lock on a folder; see :func:`writer_lock`."""

    def __init__(self, folder: Path, handle: int) -> None:
        self._folder, self._handle = folder, handle
        _held.add(self)

    def take(self) -> None:
        """Take the lock, or raise an error at once."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            message = f"another process is writing to {self._folder}; wait for it, or use another folder"
            raise InUseError(message) from error

    def check(self) -> None:
        """Refuse to write from a forked child: the lock belongs to its parent, which may be writing."""
        if self not in _held:
            raise InUseError(
                f"{self._folder} is locked by the process that forked this one; write from that process, or open the "
                "folder again in this one"
            )

    def release(self) -> None:
        """Release the lock, even if a child that was forked just now still has a copy of the descriptor."""
        if self in _held:
            fcntl.flock(self._handle, fcntl.LOCK_UN)
            self.close()

    def close(self) -> None:
        """Close the descriptor; in a child, this leaves the lock to the parent."""
        _held.remove(self)
        os.close(self._handle)


_held: set[WriterLock] = set()


def _close_all() -> None:
    for lock in list(_held):
        lock.close()


# A lock lasts until every copy of its descriptor is closed, and a forked child has copies.
os.register_at_fork(after_in_child=_close_all)


@contextmanager
def writer_lock(folder: Path) -> Iterator[WriterLock]:
    """Lock a folder for writing; a second writer gets an error at once.

    The operating system releases the lock when the process ends, even after a crash. A forked child does not have it.
    """
    make_folder(folder)
    path = folder / LOCK
    try:  # never through a link, which somebody else may have put there
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        wrong = {errno.ELOOP: "a symbolic link", errno.EISDIR: "a folder"}.get(error.errno or 0)
        if wrong is None:
            raise
        raise InputError(f"{path} is a lock and must not be {wrong}; delete it") from error
    lock = WriterLock(folder, handle)
    try:
        lock.take()
        yield lock
    finally:
        lock.release()
