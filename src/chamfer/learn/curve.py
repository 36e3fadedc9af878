"""The learning curve: quality against the number of judged queries."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.evaluate.groups import DOCUMENT, group
from chamfer.learn.auto import fit_auto
from chamfer.learn.folds import folds_if_possible
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.quality import quality
from chamfer.learn.recipe import Configuration
from chamfer.learn.registry import blended_recipes, configurations_of
from chamfer.learn.splits import FOLDS, divide
from chamfer.learn.start import Start
from chamfer.support.progress import Advance, Progress, ignore, quiet

FIRST = 10
# With more draws, the share of bad ones is known better; with ten, to a tenth.
DRAWS = 10


class Point(NamedTuple):
    """Quality after learning from some queries: means over the draws, and gains over the zero-shot mix."""

    queries: int
    ndcg: float
    recall: float
    gain: float
    """Mean gain in nDCG@10, followed by the smallest and the largest."""
    gain_lowest: float
    gain_highest: float
    below: float
    """Share of the draws in which nDCG@10 is below that of the zero-shot mix."""
    recall_gain: float
    """Mean gain in Recall@10."""


def learning_curve(
    queries: Sequence[JudgedQuery],
    start: Start,
    configurations: Sequence[Configuration] = (),
    *,
    draws: int = DRAWS,
    folds: int = FOLDS,
    group_by: str = DOCUMENT,
    seed: int = 0,
    progress: Progress = quiet,
) -> list[Point]:
    """Learn from more and more queries with the recipe ``auto``, and measure on a third that is never learnt from.

    The first point, 0 queries, is the zero-shot mix; then the number of queries doubles from 10 on. Each draw holds out
    another third and samples other queries, and for every point the whole procedure runs anew, from the evidence of
    the sampled queries alone.

    Args:
        queries: judged queries with their minima.
        start: weights without labels.
        configurations: what to blend; by default, what ``auto`` blends.
        draws: number of draws.
        folds: number of folds of the cross-validation.
        group_by: what queries on both sides do not share.
        seed: random seed.
        progress: shows the progress.
    """
    sizes = _divided(queries, draws, group_by, seed)[0]
    with progress("measuring the curve", draws * len(sizes)) as advance:
        measured = [
            measure_draw(
                queries,
                start,
                configurations,
                draw=draw,
                draws=draws,
                folds=folds,
                group_by=group_by,
                seed=seed,
                advance=advance,
            )
            for draw in range(draws)
        ]
    return points_of(measured)


class Draw(NamedTuple):
    """What one draw finds."""

    sizes: list[int]
    """Numbers of judged queries; those of every draw."""
    values: npt.NDArray[np.float64]
    """``(sizes, 2)``: nDCG@10 and Recall@10 on the queries that were held out."""


def measure_draw(
    queries: Sequence[JudgedQuery],
    start: Start,
    configurations: Sequence[Configuration] = (),
    *,
    draw: int,
    draws: int = DRAWS,
    folds: int = FOLDS,
    group_by: str = DOCUMENT,
    seed: int = 0,
    advance: Advance = ignore,
) -> Draw:
    """Measure one draw of a learning curve; for the arguments see :func:`learning_curve`."""
    sizes, parts = _divided(queries, draws, group_by, seed)
    others, held_out = parts[draw]
    chosen = configurations or configurations_of(blended_recipes(queries))
    order = np.random.default_rng(seed + draw).permutation(len(others))
    values = []
    for size in sizes:
        weights = start.mix
        if size:
            learnt_from = [others[place] for place in order[:size]]
            into_folds = partial(folds_if_possible, folds=folds, group_by=group_by, seed=seed)
            groups = group(learnt_from, group_by).labels
            weights = fit_auto(learnt_from, start, chosen, into_folds, groups, measure=False).weights
        values.append(quality(held_out, weights).mean(axis=0))
        advance(1)
    return Draw(sizes, np.array(values))


def points_of(measured: Sequence[Draw]) -> list[Point]:
    """The points of a curve from its draws."""
    values = np.array([one.values for one in measured])
    means = values.mean(axis=0)
    # On the same queries, so it does not matter which are held out.
    gains, recall_gains = np.moveaxis(values - values[:, :1], 2, 0)
    return [
        Point(
            queries=size,
            ndcg=float(means[at, 0]),
            recall=float(means[at, 1]),
            gain=float(gains[:, at].mean()),
            gain_lowest=float(gains[:, at].min()),
            gain_highest=float(gains[:, at].max()),
            below=float((gains[:, at] < 0).mean()),
            recall_gain=float(recall_gains[:, at].mean()),
        )
        for at, size in enumerate(measured[0].sizes)
    ]


def _divided(
    queries: Sequence[JudgedQuery], draws: int, group_by: str, seed: int
) -> tuple[list[int], list[tuple[list[JudgedQuery], list[JudgedQuery]]]]:
    """Numbers of queries to learn from, and for each draw the queries to draw these from and those held out."""
    labels = group(queries, group_by).labels
    parts = [divide(queries, 1 / 3, seed=seed + draw, groups=labels) for draw in range(draws)]
    most = min(len(others) for others, _ in parts)
    return [0, *(FIRST * 2**power for power in range(20) if FIRST * 2**power < most), most], parts
