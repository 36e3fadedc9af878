"""Which weights to trust, by what they do on queries that they were not fitted to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.evaluate.significance import one_sided_p_value
from chamfer.learn.blend import blend
from chamfer.learn.quality import Quality, quality
from chamfer.learn.trials import Trial
from chamfer.support.threads import map_in_threads
from chamfer.weights.token_weights import TokenWeights

CHANCE = 0.05
"""How often luck alone may pass for a gain."""


class Choice(NamedTuple):
    """The name of the chosen candidate and the reason."""

    name: str
    why: str


def choose(measured: Mapping[str, Quality], favourite: str, *, chance: float = CHANCE, seed: int = 0) -> Choice:
    """Choose what beats uniform weights beyond noise, in the mean of nDCG@10 and Recall@10.

    The favourite is tested first, by a one-sided paired randomisation test: uniform stays if it fails, so that many
    candidates are not many chances to be lucky. If it passes, so may others, and the best lower bound wins.
    """

    def luck(name: str) -> float:
        return one_sided_p_value(_gains(measured, name), seed=seed)

    gain, _ = _gain(measured, favourite)
    lucky = luck(favourite)
    if lucky > chance:
        tried = f"{favourite}: mean of nDCG@10 and Recall@10 {gain:+.4f} on held-out queries, p = {lucky:.3f}"
        return Choice("uniform", f"nothing beats uniform weights beyond noise ({tried})")
    rivals = (name for name in measured if name != "uniform")
    best = next(name for name in by_merit(measured, rivals) if name == favourite or luck(name) <= chance)
    return Choice(
        best,
        f"mean of nDCG@10 and Recall@10 on held-out queries {_gain(measured, best)[0]:+.4f} (p = {luck(best):.4f})",
    )


def by_merit(measured: Mapping[str, Quality], names: Iterable[str]) -> list[str]:
    """Some candidates by their lower bounds, mean gain over uniform less its standard error, best first."""
    bounds = {name: np.subtract(*_gain(measured, name)) for name in names}
    return sorted(bounds, key=lambda name: (-bounds[name], name))


def better_half(measured: Mapping[str, Quality], names: Sequence[str]) -> list[str]:
    """What is blended. Which candidate is the best is mostly luck; which half is the better one, much less so."""
    return by_merit(measured, names)[: (len(names) + 1) // 2]


def measure_blend(
    trials: Sequence[Trial], fitted: Mapping[str, Sequence[TokenWeights]], measured: Mapping[str, Quality]
) -> Quality:
    """Measure the blend of the better half on queries whose own measures do not decide which half that is.

    Queries are measured in groups, the folds of a cross-validation or thirds of a validation split; for each group
    the better half is that of the other groups.
    """
    groups = [
        (at, group)
        for at, trial in enumerate(trials)
        for group in (_thirds(len(trial.places)) if len(trials) == 1 else [np.arange(len(trial.places))])
    ]
    values = np.zeros_like(measured["uniform"])

    def measure(task: tuple[int, npt.NDArray[np.int64]]) -> None:
        at, group = task
        own = trials[at].places[group]
        elsewhere = {name: np.delete(one, own, axis=0) for name, one in measured.items()}
        blended = blend([fitted[name][at] for name in better_half(elsewhere, list(fitted))])
        values[own] = quality([trials[at].held_out[int(place)] for place in group], blended)

    map_in_threads(measure, groups)
    return values


def _gains(measured: Mapping[str, Quality], name: str) -> npt.NDArray[np.float64]:
    """``(queries,)`` the gain of each query over uniform, of nDCG@10 and Recall@10 together."""
    gains: npt.NDArray[np.float64] = (measured[name] - measured["uniform"]).mean(axis=1)
    return gains


def _gain(measured: Mapping[str, Quality], name: str) -> tuple[float, float]:
    """The mean gain over uniform and its standard error."""
    gains = _gains(measured, name)
    if len(gains) < 2:
        return 0.0, float("inf")
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def _thirds(count: int) -> list[npt.NDArray[np.int64]]:
    return [np.arange(first, count, 3) for first in range(min(3, count))]
