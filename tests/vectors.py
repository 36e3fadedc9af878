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


OFFSETS = ("as the scores", "some equal", "far above them", "far below them")


def offsets_for(generator: np.random.Generator, scores: Floats, kind: str) -> npt.NDArray[np.float32]:
    """One offset per score, of one of the kinds in OFFSETS."""
    finite = scores[np.isfinite(scores)]
    spread = min(float(np.std(finite)) if len(finite) else 1.0, 1e8)
    if kind == "as the scores":
        return (spread * generator.standard_normal(len(scores))).astype(np.float32)
    if kind == "some equal":
        return (spread * generator.integers(-1, 2, size=len(scores))).astype(np.float32)
    if kind == "far above them":  # where 32 bits cannot tell scores apart
        return generator.choice([-1e9, 0, 0.99e9, 1e9], size=len(scores)).astype(np.float32)
    return (1e-30 * spread * generator.standard_normal(len(scores))).astype(np.float32)
