"""Token vectors that tests make."""

import numpy as np
import numpy.typing as npt

from chamfer import TokenBatch
from chamfer.tokens.batch import offsets_of

Floats = npt.NDArray[np.floating]


def batch_of(vectors: Floats, lengths: list[int]) -> TokenBatch:
    return TokenBatch(vectors, np.zeros(len(vectors), np.int32), offsets_of(lengths))


def as_query(vectors: Floats) -> TokenBatch:
    return batch_of(vectors.astype(np.float32), [len(vectors)])


def unit(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    vectors: Floats = generator.standard_normal((count, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def planted(generator: np.random.Generator) -> tuple[TokenBatch, TokenBatch]:
    """300 documents of which some hold tokens near those of the query."""
    query = unit(generator, 40, 64)
    vectors = unit(generator, 300 * 30, 64).reshape(300, 30, 64)
    for place in range(0, 300, 15):
        near = query[generator.integers(40, size=25)] + 0.03 * generator.standard_normal((25, 64))
        vectors[place, :25] = near / np.linalg.norm(near, axis=1, keepdims=True)
    return as_query(query), batch_of(vectors.reshape(-1, 64).astype(np.float16), [30] * 300)
