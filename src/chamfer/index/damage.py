"""Errors about files of an index that are damaged, missing or forbidden, with the remedy."""

from pathlib import Path

from chamfer.errors import DamagedError, InputError

REMEDY = "delete the index and build it again"


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


def truncated(path: Path, remedy: str = REMEDY) -> DamagedError:
    """An error about a file that became shorter while it was open."""
    return damaged(path, "it was truncated while it was open", remedy)


def forbidden(path: object) -> InputError:
    """An error about a file that the operating system does not let this user read."""
    return InputError(f"{path} may not be read by this user; change its permissions")
