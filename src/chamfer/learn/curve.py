"""How much data is enough: quality against the number of judged queries."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chamfer.learn.judged import JudgedQuery
from chamfer.learn.quality import quality
from chamfer.learn.recipes import Candidate, Start, fit_blend
from chamfer.learn.splits import divide
from chamfer.support.progress import Progress, quiet
from chamfer.support.threads import map_in_threads

FIRST = 10


class Point(NamedTuple):
    """What so many judged queries give on others: means over the repeats, and the gain in nDCG@10 over uniform."""

    queries: int
    ndcg: float
    recall: float
    gain: float
    gain_lowest: float
    gain_highest: float


def learning_curve(
    queries: Sequence[JudgedQuery],
    start: Start,
    candidates: Sequence[Candidate],
    *,
    repeats: int = 5,
    seed: int = 0,
    progress: Progress = quiet,
) -> list[Point]:
    """Learn from more and more queries and measure on a third that is never learnt from.

    The first point, 0 queries, is uniform weights. Each repeat holds out another third and draws other queries;
    numbers of queries double from 10 on.

    Args:
        queries: judged queries with their minima.
        start: weights that need no label.
        candidates: the recipe with its hyper-parameters, or several to blend. A penalty means less with every
            query, so few queries stay near the prior.
        repeats: how often.
        seed: of what is drawn.
        progress: shows long work.
    """
    most = len(queries) - round(len(queries) / 3)
    sizes = [0, *(FIRST * 2**power for power in range(20) if FIRST * 2**power < most), most]
    with progress("measuring the curve", repeats * len(sizes)) as advance:

        def measure(task: tuple[int, int]) -> tuple[float, float]:
            repeat, size = task
            others, held_out = divide(queries, 1 / 3, seed=seed + repeat)
            order = np.random.default_rng(seed + repeat).permutation(most)
            chosen = [others[place] for place in order[:size]]
            weights = fit_blend(chosen, start, candidates) if chosen else start.uniform
            ndcg, recall = quality(held_out, weights).mean(axis=0)
            advance(1)
            return ndcg, recall

        tasks = [(repeat, size) for repeat in range(repeats) for size in sizes]
        values = np.array(map_in_threads(measure, tasks)).reshape(repeats, len(sizes), 2)
    means = values.mean(axis=0)
    gains = values[:, :, 0] - values[:, :1, 0]  # on the same queries, so that it does not matter which are held out
    return [
        Point(
            queries=size,
            ndcg=float(means[at, 0]),
            recall=float(means[at, 1]),
            gain=float(gains[:, at].mean()),
            gain_lowest=float(gains[:, at].min()),
            gain_highest=float(gains[:, at].max()),
        )
        for at, size in enumerate(sizes)
    ]
