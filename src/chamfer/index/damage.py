"""Errors about files of an index that are damaged or missing, with the only remedy there is."""

from pathlib import Path

from chamfer.errors import InputError

REMEDY = "delete the index and build it again"


def damaged(path: Path, problem: object = "") -> InputError:
    """An error about a damaged file.

    Args:
        path: the file.
        problem: what is wrong with it, if that is known.

    >>> print(damaged(Path("index.json"), "checksum mismatch"))
    index.json is damaged: checksum mismatch; delete the index and build it again
    """
    return InputError(f"{path} is damaged{f': {problem}' if problem else ''}; {REMEDY}")


def missing(path: object) -> InputError:
    """An error about a missing file."""
    return InputError(f"{path} is missing; {REMEDY}")
