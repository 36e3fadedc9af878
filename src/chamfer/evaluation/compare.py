"""Whether one system is really better than another, judged query by query."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError


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
    permutations: int = 10_000,
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
    observed = abs(differences.sum())
    generator = np.random.default_rng(seed)
    changed = differences[differences != 0]  # a swap of equal values changes nothing
    beyond = 0
    for start in range(0, permutations, 500):
        signs = generator.integers(0, 2, size=(min(500, permutations - start), len(changed)), dtype=np.int8) * 2 - 1
        # 1e-9 below: the real arrangement, summed in another order, must count as itself
        beyond += int((np.abs(signs @ changed) >= observed - 1e-9).sum())
    return Comparison(
        difference=float(differences.mean()),
        p_value=(beyond + 1) / (permutations + 1),
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
    )
