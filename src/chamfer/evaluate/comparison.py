"""Whether one system is really better than another, judged query by query."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.evaluate.significance import FLIPS, flipped_sums, share_beyond


class Comparison(NamedTuple):
    """A system against a baseline on the same queries."""

    difference: float
    """Mean of the system minus mean of the baseline."""
    p_value: float
    """How often pure chance gives a difference at least as large, either way."""
    wins: int
    ties: int
    losses: int


def compare(
    system: npt.NDArray[np.float64],
    baseline: npt.NDArray[np.float64],
    *,
    permutations: int = FLIPS,
    seed: int = 0,
) -> Comparison:
    """Compare two systems by a paired randomisation test.

    If the systems were equal, each query's two values could be swapped; the p-value is the share of random
    swaps (and the real one) whose mean difference is at least as far from 0.

    >>> compare(np.array([0.5, 0.7, 0.9]), np.array([0.5, 0.6, 1.0])).wins
    1
    """
    if system.shape != baseline.shape or len(system) == 0:
        raise InputError("two systems are compared on the same queries, at least one")
    differences = system - baseline
    sums = np.abs(flipped_sums(differences, flips=permutations, seed=seed))
    return Comparison(
        difference=float(differences.mean()),
        p_value=share_beyond(sums, abs(float(differences.sum()))),
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
    )
