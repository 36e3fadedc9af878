"""Files that appear whole or not at all, and folders that one process writes at a time."""

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
    """Open a file that takes its name only after all of it is on disk.

    Until then, and for ever if an error comes first, whatever stood at ``path`` stands there unchanged.
    """
    path = Path(os.path.realpath(path))  # a link keeps pointing to what is written
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe: there is nothing to replace
        with path.open("wb") as file:
            yield file
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}")
    try:
        with unfinished.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk does not say which file it cannot take
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make sure that the names of a folder's files are on disk too, not only what is in these."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode())


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 -- JSON
    """Write a value as JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


class InUseError(InputError):
    """Another process writes to a folder just now."""


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold a folder for writing; a second writer gets an error at once, not a mixed-up folder.

    The lock goes with the process, however it ends.
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
