"""The mean vector of every document of a segment: computed once, then memory-mapped."""

from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.index.damage import damaged
from chamfer.index.derived import load_array, remedy_for
from chamfer.retrieve.nearest import VectorSegment
from chamfer.tokens.means import mean_vectors

# Change the name whenever the vectors change.
NAME = "pooled-1"
FILE = "means.npy"

Means = npt.NDArray[np.float16]


def means_of(segment: VectorSegment, dimensions: int) -> Means:
    """``(documents, dimensions)`` mean token vectors of unit length; zeros for a document without tokens.

    Args:
        segment: segment of an index.
        dimensions: number of dimensions of a stored vector.
    """
    return segment.derived(NAME, partial(_make, segment), partial(_read, shape=(len(segment), dimensions)))


def _make(segment: VectorSegment, folder: Path) -> None:
    parts = [mean_vectors(part).astype(np.float16).ravel() for part in segment.parts()]
    np.save(folder / FILE, np.concatenate([np.empty(0, np.float16), *parts]))


def _read(folder: Path, shape: tuple[int, int]) -> Means:
    values = load_array(folder / FILE, np.float16)
    if len(values) != shape[0] * shape[1]:
        raise damaged(folder / FILE, "it has the wrong length", remedy_for(folder))
    return values.reshape(shape)
