"""Labels that are false on purpose, which are controls for what is learnt from true ones."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from chamfer import TokenWeights
from chamfer.learn.judged import JudgedQuery, teachable
from chamfer.learn.solver import TEMPERATURE


def shuffled(queries: Sequence[JudgedQuery], seed: int) -> list[JudgedQuery]:
    """The same queries with their grades dealt to random candidates, which are mostly far from the query."""
    generator = np.random.default_rng(seed)
    return teachable([replace(query, grades=generator.permutation(query.grades)) for query in queries])[0]


def drawn(queries: Sequence[JudgedQuery], weights: TokenWeights, seed: int) -> list[JudgedQuery]:
    """The same queries with their grades dealt to candidates by some weights, which are then the right ones.

    Candidates are drawn one after the other from the softmax of their scores, at the temperature that learning starts
    from. These labels look like real ones: what is relevant is mostly close.
    """
    generator = np.random.default_rng(seed)
    found = []
    for query in queries:
        own = weights.of_tokens(query.token_ids, query.vectors)
        scores = -TEMPERATURE * (query.distances @ own) / own.sum()
        order = np.argsort(-(scores + generator.gumbel(size=len(scores))), kind="stable")
        grades = np.zeros_like(query.grades)
        grades[order] = -np.sort(-query.grades)
        found.append(replace(query, grades=grades))
    return teachable(found)[0]
