"""Files that appear whole or not at all, and folders that one process writes at a time."""

import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from chamfer.errors import InputError


@contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes its name only after all of it is on disk.

    Until then, and for ever if an error comes first, whatever stood at ``path`` stands there unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 -- JSON
    """Write a value as JSON, whole or not at all."""
    with written_whole(path) as file:
        file.write((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
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
            raise InputError(f"another process is writing to {folder}; wait for it, or use another folder") from error
        yield


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
