"""Means over collections, with their intervals."""

import math
import statistics
from collections.abc import Sequence

from scipy.special import stdtrit

from chamfer.evaluate.significance import INTERVAL

FEWEST = 50
"""Collections with fewer test queries are left out of means."""


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean and its 95% t-interval, infinite for a single value.

    A bootstrap over a dozen collections would give an interval that is too narrow.
    """
    mean = statistics.fmean(values) if values else math.nan
    if len(values) < 2:
        return mean, -math.inf, math.inf
    quantile = float(stdtrit(len(values) - 1, INTERVAL[1]))
    reach = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - reach, mean + reach


def mean_percent(percents: Sequence[float], *, digits: int = 2) -> str:
    """The mean and its interval, as tables show them.

    >>> mean_percent([1.0, 2.0, 3.0])
    '+2.00% (-0.48 to +4.48)'
    """
    return percent_in(*mean_interval(percents), digits=digits) if percents else ""


def percent_in(mean: float, low: float, high: float, *, digits: int = 2) -> str:
    """A mean in percent and its interval.

    >>> percent_in(2.0, -0.48, 4.48)
    '+2.00% (-0.48 to +4.48)'
    """
    return f"{mean:+.{digits}f}% ({low:+.{digits}f} to {high:+.{digits}f})"
