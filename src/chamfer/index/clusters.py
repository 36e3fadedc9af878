"""Centroids of token vectors, in two levels: cells, and centroids within each cell.

With one level, every token would be compared with all centroids, whose number grows with the corpus. Two levels need
about the square root of that, so that assigning a document takes nearly constant time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import faiss
import numpy as np
import numpy.typing as npt

from chamfer.support.sampling import draw
from chamfer.support.threads import map_in_threads
from chamfer.tokens.batch import Vectors

MOST = 2**16
"""Maximum number of centroids: their ids have 16 bits."""

# A token is compared with the centroids in the cells closest to its own cell, which is one of them.
CELLS = 4
ITERATIONS = 8
# Training tokens per centroid; more than forty do not improve centroids.
TOKENS_PER_CENTROID = 40


@dataclass(frozen=True, eq=False)
class Clusters:
    """Centroids of unit length.

    Args:
        centroids: ``(centroids, dimensions)`` float32, sorted by cell.
        starts: ``(cells + 1,)`` first centroid of each cell.
        cells: ``(cells, dimensions)`` float32 centres of the cells.
    """

    centroids: npt.NDArray[np.float32]
    starts: npt.NDArray[np.int64]
    cells: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.centroids)

    def nearest(self, vectors: Vectors) -> npt.NDArray[np.uint16]:
        """``(vectors,)`` the approximately nearest centroid of each vector, by dot product."""
        vectors = vectors.astype(np.float32, copy=False)
        found = np.empty(len(vectors), np.uint16)
        cell_of = _closest(vectors, self.cells)
        order = np.argsort(cell_of, kind="stable")
        ends = np.searchsorted(cell_of[order], np.arange(len(self.cells) + 1))
        for cell in np.flatnonzero(np.diff(ends)):
            chosen, near = order[ends[cell] : ends[cell + 1]], self._near[cell]
            found[chosen] = near[_closest(vectors[chosen], self.centroids[near])]
        return found

    @cached_property
    def _near(self) -> list[npt.NDArray[np.int64]]:
        """For each cell, the centroids that its vectors are compared with."""
        closest = np.argsort(-(self.cells @ self.cells.T), axis=1, kind="stable")[:, :CELLS]
        members = [np.arange(first, last) for first, last in zip(self.starts, self.starts[1:], strict=False)]
        return [np.concatenate([members[cell] for cell in row]) for row in closest]


def count_for(tokens: int) -> int:
    """Number of centroids for a corpus: about four times the square root of its tokens, rounded to a power of two."""
    return int(min(MOST, max(1, 2 ** round(np.log2(max(4 * np.sqrt(tokens), 1))))))


def train_clusters(vectors: Vectors, count: int, *, seed: int = 0) -> Clusters:
    """Train centroids by spherical k-means.

    Args:
        vectors: unit vectors; if there are fewer than ``count``, each is a centroid.
        count: number of centroids.
        seed: random seed.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if len(vectors) > count * TOKENS_PER_CENTROID:
        vectors = vectors[draw(len(vectors), count * TOKENS_PER_CENTROID, np.random.default_rng(seed))]
    cells = _k_means(vectors, round(count**0.5), seed)
    cell_of = _closest(vectors, cells)
    sizes = np.bincount(cell_of, minlength=len(cells))
    shares = 1 + ((count - len(cells)) * sizes // max(len(vectors), 1))  # at most ``count`` in total
    filled = np.flatnonzero(sizes)
    centroids = map_in_threads(lambda cell: _k_means(vectors[cell_of == cell], shares[cell], seed), filled)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in centroids])]).astype(np.int64)
    return Clusters(np.concatenate(centroids), starts, cells[filled])


@contextmanager
def one_faiss_thread() -> Iterator[None]:
    """Run faiss in one thread: for small problems, or on busy cores, its threads wait for each other.

    On two busy cores, k-means of 160,000 vectors took 12 seconds with two threads and 0.8 with one.
    """
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _closest(vectors: npt.NDArray[np.float32], centroids: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    closest = np.empty(len(vectors), np.int64)
    at_a_time = max(1, 2**24 // len(centroids))  # 64 MB of products
    for start in range(0, len(vectors), at_a_time):
        part = slice(start, start + at_a_time)
        closest[part] = np.argmax(vectors[part] @ centroids.T, axis=1)
    return closest


def _k_means(vectors: npt.NDArray[np.float32], count: int, seed: int) -> npt.NDArray[np.float32]:
    distinct = len(vectors) if len(vectors) > count else len(np.unique(vectors, axis=0))
    if distinct <= count:
        return np.unique(vectors, axis=0) if len(vectors) else np.zeros((1, vectors.shape[1]), np.float32)
    means = faiss.Kmeans(
        vectors.shape[1],
        int(count),
        niter=ITERATIONS,
        seed=seed + 1,
        spherical=True,
        min_points_per_centroid=1,  # otherwise faiss prints a warning
        max_points_per_centroid=4 * TOKENS_PER_CENTROID,
    )
    with one_faiss_thread():
        means.train(vectors)
    return np.asarray(means.centroids)
