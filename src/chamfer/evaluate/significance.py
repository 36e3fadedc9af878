"""Statistical significance: the paired randomisation test, bootstrap intervals, and Holm's correction."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError

Floats = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]
"""``(queries,)``: the number of each query's group. Queries of a group are not independent of each other."""

SIGNIFICANCE = 0.05
"""Significance level."""
PERMUTATIONS = 10_000
"""Random permutations of the test."""
SAMPLES = 2_000
"""Bootstrap samples."""
INTERVAL = (0.025, 0.975)
"""Quantiles of a confidence interval of 95%."""
TIE = 1e-12
"""Differences up to this size come from rounding."""
FEWEST_UNITS = 6
"""Independent queries below which there is no interval: five gains and no loss have a p-value of 2 / 2**5 > 0.05."""

Interval = tuple[float, float]
"""Both ends of a confidence interval of 95%."""


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

    @property
    def queries(self) -> int:
        """Number of queries."""
        return self.wins + self.ties + self.losses


def compare(
    system: Floats,
    baseline: Floats,
    *,
    groups: Groups | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Comparison:
    """Compare two systems, query by query, with a two-sided paired randomisation test.

    If the systems were equally good, the two values of any query could be swapped. The p-value is the share of random
    swaps, plus the observed arrangement, whose mean difference is at least as far from 0 as the observed one.

    Args:
        system: one value per query.
        baseline: values of the baseline for the same queries.
        groups: group of each query; a group is swapped as a whole. Every query is its own group by default.
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
    swapped = differences if groups is None else _group_sums(differences, groups)
    sums = np.abs(permuted_sums(swapped, permutations=permutations, seed=seed))
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
        groups: group of each query; a group is drawn as a whole. Every query is its own group by default.
        samples: number of bootstrap samples.
        seed: random seed.
    """

    def __init__(self, queries: int, *, groups: Groups | None = None, samples: int = SAMPLES, seed: int = 0) -> None:
        numbers = None if groups is None else _numbered(groups, queries)
        units = queries if numbers is None else int(numbers.max(initial=-1)) + 1
        drawn = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), samples)
        if numbers is not None:
            drawn = drawn[:, numbers]
        # (samples, queries): the share of each query in each sample.
        self._shares: Floats = drawn / drawn.sum(axis=1, keepdims=True)

    def intervals(self, values: Floats) -> list[tuple[float, float]]:
        """Return the 95% interval of the mean of each column of ``(queries, measures)`` values."""
        low, high = np.quantile(self.means(values), INTERVAL, axis=0).tolist()
        return list(zip(low, high, strict=True))

    def means(self, values: Floats) -> Floats:
        """Return the ``(samples, measures)`` means of ``(queries, measures)`` values in each sample."""
        found: Floats = self._shares @ values
        return found


def bootstrap_interval(
    values: Floats, *, groups: Groups | None = None, samples: int = SAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Return the 95% bootstrap interval of the mean of ``(queries,)`` values.

    Args:
        values: one value per query.
        groups: group of each query; a group is drawn as a whole. Every query is its own group by default.
        samples: number of bootstrap samples.
        seed: random seed.

    >>> bootstrap_interval(np.array([0.5, 0.5, 0.5]))
    (0.5, 0.5)
    """
    return Bootstrap(len(values), groups=groups, samples=samples, seed=seed).intervals(values[:, None])[0]


def relative_interval(
    system: Floats,
    baseline: Floats,
    *,
    groups: Groups | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the 95% bootstrap interval of the relative change, ``sum(system) / sum(baseline) - 1``.

    Both sums are of the same sample, so the interval covers the noise of the baseline too. Samples in which the
    baseline is 0 are left out.

    Args:
        system: one value per query, at least 0.
        baseline: values of the baseline for the same queries.
        groups: group of each query; a group is drawn as a whole. Every query is its own group by default.
        samples: number of bootstrap samples.
        seed: random seed.

    >>> low, high = relative_interval(np.array([0.55, 0.11]), np.array([0.5, 0.1]))
    >>> round(low, 6), round(high, 6)
    (0.1, 0.1)
    """
    if system.shape != baseline.shape or not baseline.any():
        raise InputError(
            "a relative change needs two systems with one value each for the same queries, and a baseline that is not "
            f"0 for all of them; got {len(system)} and {len(baseline)} values; compare their difference instead"
        )
    means = Bootstrap(len(system), groups=groups, samples=samples, seed=seed).means(
        np.stack([system, baseline], axis=1)
    )
    own, other = means[means[:, 1] > 0].T
    low, high = np.quantile(own / other - 1, INTERVAL).tolist()
    return low, high


def _group_sums(values: Floats, groups: Groups) -> Floats:
    """The sum of the values of each group."""
    return np.bincount(_numbered(groups, len(values)), weights=values).astype(np.float64)


def _numbered(groups: Groups, queries: int) -> Groups:
    """The same groups with numbers from 0 and no gaps."""
    if len(groups) != queries:
        raise InputError(f"every query needs a group; got {len(groups)} groups for {queries} queries")
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


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
