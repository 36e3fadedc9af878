"""Judged queries for which uniform weights are right: what a recipe does to weights there, it does by itself."""

import numpy as np

from chamfer import TokenWeights
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.start import Start
from chamfer.tokens.vocabulary import Vocabulary

SYNTHETIC = "synthetic"
"""Name under which the results of :func:`uniform_queries` are saved."""

VOCABULARY = 30_000
# About as many queries, candidates and tokens as in scifact; every token occurs as rarely as words do.
QUERIES, CANDIDATES, TOKENS, WORDS = 600, 1000, 12, 6000
SHARPNESS = 20.0


def uniform_queries(seed: int, *, queries: int = QUERIES) -> list[JudgedQuery]:
    """Queries for which uniform weights are right.

    All distances are drawn from one distribution, and the relevant document from the softmax of the scores under
    uniform weights, so no other weights rank better in expectation.
    """
    generator = np.random.default_rng(seed)
    frequency = 1 / (10 + np.arange(WORDS))
    found = []
    for place in range(queries):
        ids = generator.choice(WORDS, TOKENS, replace=False, p=frequency / frequency.sum()).astype(np.int32)
        distances = generator.uniform(0.2, 1.4, (CANDIDATES, TOKENS)).astype(np.float32)
        chances = np.exp(-SHARPNESS * distances.mean(axis=1, dtype=np.float64))
        grades = np.zeros(CANDIDATES, np.int32)
        grades[generator.choice(CANDIDATES, p=chances / chances.sum())] = 1
        vectors = np.zeros((TOKENS, 1), np.float32)
        found.append(JudgedQuery(f"q{place}", ids, vectors, distances, grades, np.ones(1, np.int32)))
    return found


def uniform_start() -> Start:
    """Uniform weights for such queries, in the place of all others."""
    weights = TokenWeights.uniform(Vocabulary(tuple(f"t{token}" for token in range(VOCABULARY)), frozenset()))
    return Start(uniform=weights, idf=weights, idf_without_special=weights, soft=weights, mix=weights)
