"""The mean vectors of an encoded corpus, computed once and stored beside its vectors."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.cache.derived import derived_folder
from chamfer.support.files import atomic_write
from chamfer.tokens.batch import AT_A_TIME, TokenBatch, parts
from chamfer.tokens.means import mean_vectors

FORMAT = 1
FOLDER = "means"
MEANS_FILE = "means.f16"

Means = npt.NDArray[np.float16]


def open_means(corpus: Path, tokens: TokenBatch, made_from: Mapping[str, Any]) -> Means:
    """Open the mean vectors of a finished corpus, memory-mapped; compute and write them first if necessary.

    Where they cannot be written, they are computed in memory.

    Args:
        corpus: folder of the corpus.
        tokens: its vectors.
        made_from: what determines the vectors; means made from anything else are replaced.

    Returns:
        ``(documents, dimensions)`` of unit length; zeros for a document without tokens.
    """
    shape = len(tokens), tokens.dimensions
    if 0 in shape:  # an empty file cannot be mapped
        return np.zeros(shape, np.float16)
    manifest = {"format": FORMAT, "made_from": dict(made_from), "documents": shape[0], "dimensions": shape[1]}
    sizes = {MEANS_FILE: shape[0] * shape[1] * 2}
    folder = derived_folder(corpus, FOLDER, manifest, sizes, partial(_make, tokens))
    if folder is None:
        return np.concatenate(list(_means(tokens)))
    return np.memmap(folder / MEANS_FILE, np.float16, "r", shape=shape)


def _make(tokens: TokenBatch, folder: Path) -> None:
    with atomic_write(folder / MEANS_FILE) as file:
        for means in _means(tokens):
            file.write(means.data)


def _means(tokens: TokenBatch) -> Iterator[Means]:
    for part in parts(tokens.offsets, AT_A_TIME):
        yield mean_vectors(tokens[part]).astype(np.float16)
