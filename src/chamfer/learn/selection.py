"""Choose weights by their quality on queries that they were not fitted to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.evaluate.significance import SIGNIFICANCE, one_sided_p_value
from chamfer.learn.blend import blend
from chamfer.learn.folds import Fold
from chamfer.learn.quality import Quality, quality
from chamfer.learn.recipe import Configuration, Contender
from chamfer.learn.start import UNIFORM, ZeroShot
from chamfer.support.threads import map_in_threads
from chamfer.weights.token_weights import TokenWeights

BLEND = ZeroShot("blend")
"""The blend of the better half of the configurations, as a contender."""


class Choice(NamedTuple):
    """What was chosen, and why."""

    contender: Contender
    """What was chosen."""
    why: str
    """The reason, in one sentence."""

    @property
    def name(self) -> str:
        """Name of the contender in reports."""
        return self.contender.name


def choose_significant(
    measured: Mapping[Contender, Quality], favourite: Contender, *, level: float = SIGNIFICANCE, seed: int = 0
) -> Choice:
    """Choose weights that beat uniform ones significantly, in the mean of nDCG@10 and Recall@10.

    The favourite is tested first, by a one-sided paired randomisation test. If it fails, uniform weights are chosen
    without testing the others, to avoid multiple comparisons. If it passes, others may pass too, and the one with the
    best lower bound is chosen.

    Args:
        measured: quality of each contender, uniform weights among them, on held-out queries.
        favourite: contender to test first.
        level: significance level.
        seed: random seed of the test.
    """

    def p_value(contender: Contender) -> float:
        return one_sided_p_value(_gains(measured, contender), seed=seed)

    gain, _ = _mean_gain(measured, favourite)
    p = p_value(favourite)
    if p > level:
        found = f"mean of nDCG@10 and Recall@10 {gain:+.4f} on held-out queries, p = {p:.3f}"
        rest = "no other configuration was tested, to avoid multiple comparisons"
        return Choice(UNIFORM, f"the {favourite.name} does not beat uniform weights significantly ({found}); {rest}")
    rivals = (contender for contender in measured if contender != UNIFORM)
    best = next(one for one in by_lower_bound(measured, rivals) if one == favourite or p_value(one) <= level)
    gain, _ = _mean_gain(measured, best)
    return Choice(
        best, f"mean of nDCG@10 and Recall@10 on held-out queries {gain:+.4f} against uniform (p = {p_value(best):.4f})"
    )


def choose_best(
    measured: Mapping[Contender, Quality], configurations: Sequence[Configuration], rivals: Sequence[ZeroShot] = ()
) -> Choice:
    """Choose the best mean of nDCG@10 and Recall@10.

    Ties go to weights without labels, then to the configuration whose settings come last in alphabetical order. That
    rule is arbitrary, but published results depend on it.

    Args:
        measured: quality of each contender on held-out queries.
        configurations: configurations to choose from.
        rivals: weights without labels to choose from.
    """
    contenders: list[Contender] = [*rivals, *sorted(configurations, key=lambda one: one.settings, reverse=True)]
    return Choice(
        max(contenders, key=lambda one: measured[one].mean()),  # the first of equals
        f"best mean of nDCG@10 and Recall@10 on held-out queries among {len(contenders)} configurations; "
        "not compared with uniform weights",
    )


def by_lower_bound(measured: Mapping[Contender, Quality], contenders: Iterable[Contender]) -> list[Contender]:
    """Sort contenders by their mean gain over uniform weights less its standard error, best first.

    Ties are broken by recipe and settings, in alphabetical order.
    """
    bounds = {one: np.subtract(*_mean_gain(measured, one)) for one in contenders}
    return sorted(bounds, key=lambda one: (-bounds[one], one.recipe, one.settings))


def better_half(measured: Mapping[Contender, Quality], contenders: Sequence[Contender]) -> list[Contender]:
    """Return the half to blend. Which configuration is best is mostly luck; which half is better, much less so."""
    return by_lower_bound(measured, contenders)[: (len(contenders) + 1) // 2]


def measure_blend(
    folds: Sequence[Fold], fitted: Mapping[Contender, Sequence[TokenWeights]], measured: Mapping[Contender, Quality]
) -> Quality:
    """Measure the blend of the better half on queries that do not help to decide which half that is.

    Queries are measured in groups: the folds of a cross-validation, or thirds of a validation split. The better half
    for a group is that of all other groups.
    """
    groups = [
        (at, group)
        for at, fold in enumerate(folds)
        for group in (_thirds(len(fold.places)) if len(folds) == 1 else [np.arange(len(fold.places))])
    ]
    values = np.zeros_like(measured[UNIFORM])

    def measure(task: tuple[int, npt.NDArray[np.int64]]) -> None:
        at, group = task
        own = folds[at].places[group]
        elsewhere = {contender: np.delete(one, own, axis=0) for contender, one in measured.items()}
        blended = blend([fitted[one][at] for one in better_half(elsewhere, list(fitted))])
        values[own] = quality([folds[at].held_out[int(place)] for place in group], blended)

    map_in_threads(measure, groups)
    return values


def _gains(measured: Mapping[Contender, Quality], contender: Contender) -> npt.NDArray[np.float64]:
    """``(queries,)`` gain over uniform weights in the mean of nDCG@10 and Recall@10."""
    gains: npt.NDArray[np.float64] = (measured[contender] - measured[UNIFORM]).mean(axis=1)
    return gains


def _mean_gain(measured: Mapping[Contender, Quality], contender: Contender) -> tuple[float, float]:
    """The mean gain over uniform weights, and its standard error."""
    gains = _gains(measured, contender)
    if len(gains) < 2:
        return 0.0, float("inf")
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def _thirds(count: int) -> list[npt.NDArray[np.int64]]:
    return [np.arange(first, count, 3) for first in range(min(3, count))]
