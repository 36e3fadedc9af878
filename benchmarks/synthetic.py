"""Synthetic documents whose tokens form clusters, as those of real texts do, and queries for them.

Apart from the benchmarks that use it, because it also runs with the chamfer of an older checkout.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from chamfer.index.snapshot import Snapshot
from chamfer.retrieve.stage import Queries
from chamfer.tokens.batch import TokenBatch, offsets_of

TOKENS, DIMENSIONS, QUERY_TOKENS = 60, 128, 32
WORDS, TOPICS, WORDS_OF_A_TOPIC = 30_000, 500, 400
CHUNK = 10_000


def word_vectors() -> npt.NDArray[np.float32]:
    """Cluster centres of tokens, closer within a topic than between topics."""
    generator = np.random.default_rng(0)
    topics = generator.standard_normal((TOPICS, DIMENSIONS))
    words = topics[generator.integers(TOPICS, size=WORDS)] + 1.5 * generator.standard_normal((WORDS, DIMENSIONS))
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    return words.astype(np.float32)


def chunks(
    words: npt.NDArray[np.float32], size: int, *, at_a_time: int = CHUNK, seed: int = 0
) -> Iterator[tuple[int, TokenBatch]]:
    """Documents with tokens near the words of a topic, common words more often than rare ones."""
    generator = np.random.default_rng([seed, size])
    vocabulary = np.random.default_rng(3).integers(WORDS, size=(TOPICS, WORDS_OF_A_TOPIC))
    for first in range(0, size, at_a_time):
        count = min(at_a_time, size - first)
        topic = generator.integers(TOPICS, size=count)
        rank = np.floor(WORDS_OF_A_TOPIC * generator.random((count, TOKENS)) ** 2).astype(int)
        chosen = vocabulary[topic[:, None], rank].ravel()
        vectors = words[chosen] + 0.05 * generator.standard_normal((len(chosen), DIMENSIONS), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        yield first, TokenBatch(vectors, chosen.astype(np.int32), offsets_of([TOKENS] * count))


def query_like(index: Snapshot, number: int) -> Queries:
    """A query with tokens near some tokens of a document."""
    generator = np.random.default_rng([4, number])
    place = int(generator.integers(len(index)))
    ((segment, _, local),) = index.by_segment(np.array([place]))
    tokens = segment.take(local)
    chosen = generator.choice(len(tokens.vectors), QUERY_TOKENS, replace=False)
    vectors = tokens.vectors[chosen].astype(np.float32)
    vectors += 0.05 * generator.standard_normal(vectors.shape, dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = generator.random(QUERY_TOKENS, dtype=np.float32) + np.float32(0.5)
    return Queries([""], TokenBatch(vectors, tokens.token_ids[chosen], np.array([0, QUERY_TOKENS])), weights)
