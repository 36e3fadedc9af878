"""Document frequencies on disk, and counts that change them."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.index.manifest import File
from chamfer.support.files import atomic_write

Counts = npt.NDArray[np.int64]
"""``(vocabulary,)`` number of documents that contain each token."""


def count(token_ids: npt.NDArray[np.integer], vocabulary_size: int) -> Counts:
    """How often each token occurs; an id outside the vocabulary is an error."""
    outside = token_ids[(token_ids < 0) | (token_ids >= vocabulary_size)]
    if len(outside):
        raise InputError(
            f"token id {outside[0]} lies outside the vocabulary of {vocabulary_size} tokens; "
            "encode with the model that the index was built with"
        )
    return np.bincount(token_ids, minlength=vocabulary_size)


def write_counts(path: Path, counts: Counts) -> File:
    """Write counts to a new file."""
    with atomic_write(path) as file:
        file.write(counts.astype(np.int64).data)
    return File.of(path)


def read_counts(folder: Path, file: File) -> Counts:
    """Read counts, after a check of the file."""
    file.check(folder)
    return np.fromfile(folder / file.name, np.int64)
