"""Judged queries with known answers, for tests of learning."""

import numpy as np

from chamfer.learn.judged import JudgedQuery
from chamfer.learn.start import Start
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.mix import FOR_POOLED_ENCODERS
from chamfer.weights.token_weights import TokenWeights

SIZE = 12
WORDS = Vocabulary(tuple(f"t{i}" for i in range(SIZE)), frozenset())


def random_problem(
    seed: int, *, queries: int = 40, candidates: int = 30, tokens: int = 4, dimensions: int = 6
) -> list[JudgedQuery]:
    """Queries whose relevant document is the one that hidden weights, on tokens 0 to 3, call the closest."""
    generator = np.random.default_rng(seed)
    hidden = np.where(np.arange(SIZE) < 4, 3.0, 0.0)
    found = []
    for place in range(queries):
        ids = generator.choice(SIZE, tokens, replace=False).astype(np.int32)
        distances = generator.uniform(0.2, 1.4, (candidates, tokens)).astype(np.float32)
        grades = np.zeros(candidates, np.int32)
        grades[np.argmin(distances @ hidden[ids])] = 1
        vectors = generator.normal(size=(tokens, dimensions)).astype(np.float32)
        found.append(JudgedQuery(f"q{place}", ids, vectors, distances, grades, np.array([1], np.int32)))
    return found


def uniform() -> TokenWeights:
    return TokenWeights.uniform(WORDS)


def start() -> Start:
    return Start(uniform(), uniform(), uniform(), uniform(), uniform().with_mix(FOR_POOLED_ENCODERS))
