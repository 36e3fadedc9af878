"""Statistical significance: the paired randomisation test, bootstrap intervals, and Holm's correction."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError

Floats = npt.NDArray[np.float64]

SIGNIFICANCE = 0.05
"""Significance level."""
PERMUTATIONS = 10_000
"""Random permutations of the test."""
SAMPLES = 2_000
"""Bootstrap samples."""
INTERVAL = (0.025, 0.975)
"""Quantiles of a confidence interval of 95%."""


class Comparison(NamedTuple):
    """A system against a baseline on the same queries."""

    difference: float
    """Mean of the system minus mean of the baseline."""
    p_value: float
    """Two-sided p-value of the paired randomisation test."""
    wins: int
    """Queries on which the system is better."""
    ties: int
    """Queries on which both are equal."""
    losses: int
    """Queries on which the baseline is better."""


def compare(system: Floats, baseline: Floats, *, permutations: int = PERMUTATIONS, seed: int = 0) -> Comparison:
    """Compare two systems, query by query, with a two-sided paired randomisation test.

    If the systems were equally good, the two values of any query could be swapped. The p-value is the share of random
    swaps, plus the observed arrangement, whose mean difference is at least as far from 0 as the observed one.

    Args:
        system: one value per query.
        baseline: values of the baseline for the same queries.
        permutations: number of random swaps.
        seed: random seed.

    >>> compare(np.array([0.5, 0.7, 0.9]), np.array([0.5, 0.6, 1.0])).wins
    1
    """
    if system.shape != baseline.shape or len(system) == 0:
        raise InputError(
            f"two systems need one value each for the same queries, at least one; got {len(system)} and {len(baseline)}"
        )
    differences = system - baseline
    sums = np.abs(permuted_sums(differences, permutations=permutations, seed=seed))
    return Comparison(
        difference=float(differences.mean()),
        p_value=_p_value(sums, abs(float(differences.sum()))),
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
    )


def one_sided_p_value(differences: Floats, *, seed: int = 0) -> float:
    """P-value of the paired randomisation test for a gain: differences whose mean is above 0.

    >>> one_sided_p_value(np.zeros(5))
    1.0
    """
    return _p_value(permuted_sums(differences, seed=seed), float(differences.sum()))


def permuted_sums(differences: Floats, *, permutations: int = PERMUTATIONS, seed: int = 0) -> Floats:
    """Return ``(permutations,)`` sums of the differences with random signs: swapping two values flips the sign."""
    changed = differences[differences != 0]  # swapping equal values changes nothing
    generator = np.random.default_rng(seed)
    sums = []
    for start in range(0, permutations, 500):
        signs = generator.integers(0, 2, size=(min(500, permutations - start), len(changed)), dtype=np.int8) * 2 - 1
        sums.append(signs @ changed)
    return np.concatenate(sums)


def _p_value(sums: Floats, observed: float) -> float:
    # Less 1e-9, because the observed arrangement, summed in another order, must count as itself.
    return (int((sums >= observed - 1e-9).sum()) + 1) / (len(sums) + 1)


class Bootstrap:
    """Confidence intervals of means over queries, all from the same bootstrap samples.

    Args:
        queries: number of queries.
        samples: number of bootstrap samples.
        seed: random seed.
    """

    def __init__(self, queries: int, *, samples: int = SAMPLES, seed: int = 0) -> None:
        drawn = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), samples)
        # (samples, queries): the share of each query in each sample.
        self._shares = drawn / queries

    def intervals(self, values: Floats) -> list[tuple[float, float]]:
        """Return the 95% interval of the mean of each column of ``(queries, measures)`` values."""
        low, high = np.quantile(self._shares @ values, INTERVAL, axis=0).tolist()
        return list(zip(low, high, strict=True))


def bootstrap_interval(values: Floats, *, samples: int = SAMPLES, seed: int = 0) -> tuple[float, float]:
    """Return the 95% bootstrap interval of the mean of ``(queries,)`` values.

    >>> bootstrap_interval(np.array([0.5, 0.5, 0.5]))
    (0.5, 0.5)
    """
    return Bootstrap(len(values), samples=samples, seed=seed).intervals(values[:, None])[0]


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct the p-values of several comparisons, so that the chance of any false discovery stays the same.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        corrected[place] = largest
    return corrected
