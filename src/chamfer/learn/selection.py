"""Choose weights by their quality on queries that they were not fitted to."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.evaluate.significance import Comparison, compare
from chamfer.learn.quality import Quality
from chamfer.learn.recipe import Configuration, Contender
from chamfer.learn.splits import Labels
from chamfer.learn.start import MIX, ZeroShot

FALLBACK = MIX
"""What is used without labels, and what labels have to beat."""

BLEND = ZeroShot("blend")
"""The blend of everything that was tried, each by its share, as a contender."""

# The fallback's share in a blend before there is any evidence.
HABIT = 0.5


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


def shares_of(
    measured: Mapping[Contender, Quality], contenders: Sequence[Contender], groups: Labels
) -> dict[Contender, float]:
    """Return the share of each contender in a blend.

    ``share(c) = habit(c) exp(z(c)) / sum``, where ``z(c)`` is the contender's gain over the fallback on held-out
    queries, in standard errors. Before there is any evidence, the fallback has one half and the others share the rest;
    so a few queries move the weights a little, and many move them all the way.

    Args:
        measured: quality of each contender, and of the fallback, on held-out queries.
        contenders: contenders beside the fallback.
        groups: ``(queries,)`` group of each query; the gains of a group are one piece of evidence.
    """
    logs: dict[Contender, float] = {FALLBACK: math.log(HABIT)}
    for one in contenders:
        evidence = standardised_gain(measured[one], measured[FALLBACK], groups)
        logs[one] = math.log((1 - HABIT) / len(contenders)) + evidence
    highest = max(logs.values())
    parts = {one: math.exp(log - highest) for one, log in logs.items()}
    return {one: part / sum(parts.values()) for one, part in parts.items()}


def standardised_gain(values: Quality, baseline: Quality, groups: Labels) -> float:
    """Return the sum of the gains of all groups of queries divided by the root of their squares.

    It is the mean gain in standard errors, for a mean of 0; so it stays within the root of the number of groups, and
    few groups are little evidence however alike their gains. A group gains what its queries gain together.
    """
    gains = np.bincount(groups, gains_of(values, baseline))
    size = float(np.sqrt((gains**2).sum()))
    return float(gains.sum()) / size if size > 0 else 0.0


def gains_of(values: Quality, baseline: Quality) -> npt.NDArray[np.float64]:
    """Return ``(queries,)`` gains in the mean of nDCG@10 and Recall@10."""
    gains: npt.NDArray[np.float64] = (values - baseline).mean(axis=1)
    return gains


def against_fallback(measured: Mapping[Contender, Quality], one: Contender, groups: Labels) -> Comparison | None:
    """Compare a contender with the fallback in the mean of nDCG@10 and Recall@10; None if it was not measured.

    Args:
        measured: quality of each contender, and of the fallback, on held-out queries.
        one: the contender.
        groups: ``(queries,)`` group of each query; the test swaps groups as a whole.
    """
    if one not in measured:
        return None
    return compare(measured[one].mean(axis=1), measured[FALLBACK].mean(axis=1), groups=groups)


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
        f"not compared with the {FALLBACK.name}",
    )
