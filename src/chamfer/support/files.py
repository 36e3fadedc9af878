"""Atomic writes, and a lock that lets one process at a time write to a folder."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from chamfer.errors import InputError


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing; it replaces ``path`` only once all of it is on disk.

    Until then, and after an error, ``path`` stays as it was.
    """
    path = Path(os.path.realpath(path))  # a symbolic link stays one, and its target is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe: there is nothing to replace
        with path.open("wb") as file:
            yield file
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}")
    try:
        with _errors_name(path):
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
    with _errors_name(path), path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)  # the error for a full disk names no file
        raise


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


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Lock a folder for writing; a second writer gets an error at once.

    The operating system releases the lock when the process ends, even after a crash.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise InUseError(f"another process is writing to {folder}; wait for it, or use another folder") from error
        yield
