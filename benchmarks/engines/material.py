"""What every engine is given: token vectors, queries and weights, written once and mapped by each process.

Does not import chamfer, which the environment of the other engines lacks.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

VECTORS, TOKEN_IDS, QUERIES, QUERY_LENGTHS = "vectors.npy", "token_ids.npy", "query_vectors.npy", "query_lengths.npy"
LENGTHS = "vectors.doclens.npy"
"""Tokens of each document, under the name that xtr-warp-rs reads beside the vectors."""


class Material(NamedTuple):
    """Memory-mapped 16-bit token vectors, and queries."""

    vectors: npt.NDArray[np.float16]
    lengths: npt.NDArray[np.int64]
    queries: list[npt.NDArray[np.float32]]
    weights: npt.NDArray[np.float32]

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each document starts; the last number is where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def folded(self) -> list[npt.NDArray[np.float32]]:
        """Queries multiplied by their weights, which is the same for dot products."""
        ends = np.cumsum([len(query) for query in self.queries])[:-1]
        parts = np.split(self.weights[:, None], ends)
        return [query * weights for query, weights in zip(self.queries, parts, strict=True)]


def read_material(folder: Path, weighting: str = "uniform") -> Material:
    """Read what :func:`write_queries` and the maker of the vectors wrote."""
    ends = np.cumsum(np.load(folder / QUERY_LENGTHS))[:-1]
    return Material(
        # Never written to, but torch warns about read-only arrays.
        np.load(folder / VECTORS, mmap_mode="c"),
        np.load(folder / LENGTHS).astype(np.int64),
        np.split(np.load(folder / QUERIES).astype(np.float32), ends),
        np.load(folder / f"weights-{weighting}.npy"),
    )


def write_queries(
    folder: Path,
    vectors: npt.NDArray[np.floating],
    lengths: npt.NDArray[np.integer],
    weights: Mapping[str, npt.NDArray[np.float32]],
) -> None:
    """Write queries and their weights, by the name of the weighting."""
    np.save(folder / QUERIES, vectors)
    np.save(folder / QUERY_LENGTHS, lengths)
    for name, values in weights.items():
        np.save(folder / f"weights-{name}.npy", values)
