"""Errors about files of an index that are damaged, missing or forbidden, with the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chamfer.errors import DamagedError, InputError

REMEDY = "delete the index and build it again"

# A file is missing also if one of its folders is a file.
ABSENT = (FileNotFoundError, NotADirectoryError)


class UnreadableError(InputError):
    """The operating system does not let this user read a file."""


def damaged(path: Path, problem: object = "", remedy: str = REMEDY) -> DamagedError:
    """An error about a damaged file.

    Args:
        path: the file.
        problem: what is wrong with it, if that is known.
        remedy: what to do about it.

    >>> print(damaged(Path("index.json"), "checksum mismatch"))
    index.json is damaged: checksum mismatch; delete the index and build it again
    """
    return DamagedError(f"{path} is damaged{f': {problem}' if problem else ''}; {remedy}")


def missing(path: object, remedy: str = REMEDY) -> DamagedError:
    """An error about a missing file."""
    return DamagedError(f"{path} is missing; {remedy}")


def no_folder(path: Path) -> DamagedError:
    """An error about a file where a folder must be."""
    return damaged(path, "it is not a folder", "delete it")


def truncated(path: Path, remedy: str = REMEDY) -> DamagedError:
    """An error about a file that became shorter while it was open."""
    return damaged(path, "it was truncated while it was open", remedy)


def forbidden(path: object) -> UnreadableError:
    """An error about a file that the operating system does not let this user read."""
    return UnreadableError(f"{path} may not be read by this user; change its permissions")


@contextmanager
def absence_is_damage() -> Iterator[None]:
    """Report missing files by our own error. Only for the holder of the lock: others may find a newer commit."""
    try:
        yield
    except ABSENT as error:
        raise missing(error.filename) from error
    except PermissionError as error:
        raise forbidden(error.filename) from error
