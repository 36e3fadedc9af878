"""The learning curve: quality against the number of judged queries."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chamfer.learn.fitting import fit_blend
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.quality import quality
from chamfer.learn.recipe import Configuration
from chamfer.learn.solver import PenaltyConfiguration
from chamfer.learn.splits import divide
from chamfer.learn.start import Start
from chamfer.support.progress import Progress, quiet
from chamfer.support.threads import map_in_threads

FIRST = 10

DEFAULT: tuple[Configuration, ...] = (PenaltyConfiguration(),)
"""What a curve is drawn for if the chosen weights were not learnt."""


class Point(NamedTuple):
    """Quality after learning from a number of queries: means over the repeats, and the gain in nDCG@10 over uniform."""

    queries: int
    ndcg: float
    recall: float
    gain: float
    gain_lowest: float
    gain_highest: float


def learning_curve(
    queries: Sequence[JudgedQuery],
    start: Start,
    configurations: Sequence[Configuration],
    *,
    repeats: int = 5,
    seed: int = 0,
    progress: Progress = quiet,
) -> list[Point]:
    """Learn from more and more queries, and measure on a third that is never learnt from.

    The first point, 0 queries, is uniform weights; then the number of queries doubles from 10 on. Each repeat holds
    out another third and samples other queries.

    Args:
        queries: judged queries with their minima.
        start: weights without labels.
        configurations: recipe with its hyper-parameters, or several to blend. A penalty matters less with every query,
            so with few queries weights stay near the prior.
        repeats: number of repeats.
        seed: random seed.
        progress: shows the progress.
    """
    most = len(queries) - round(len(queries) / 3)
    sizes = [0, *(FIRST * 2**power for power in range(20) if FIRST * 2**power < most), most]
    with progress("measuring the curve", repeats * len(sizes)) as advance:

        def measure(task: tuple[int, int]) -> tuple[float, float]:
            repeat, size = task
            others, held_out = divide(queries, 1 / 3, seed=seed + repeat)
            order = np.random.default_rng(seed + repeat).permutation(most)
            chosen = [others[place] for place in order[:size]]
            weights = fit_blend(chosen, start, configurations) if chosen else start.uniform
            ndcg, recall = quality(held_out, weights).mean(axis=0)
            advance(1)
            return ndcg, recall

        tasks = [(repeat, size) for repeat in range(repeats) for size in sizes]
        values = np.array(map_in_threads(measure, tasks)).reshape(repeats, len(sizes), 2)
    means = values.mean(axis=0)
    gains = values[:, :, 0] - values[:, :1, 0]  # on the same queries, so it does not matter which are held out
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
