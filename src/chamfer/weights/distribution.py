"""How weights are distributed: a histogram with round edges, which a few huge weights cannot squash."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

BINS = 20
"""Largest number of bins, open ones not counted."""

MIDDLES = ((0.25, 0.75, 10.0), (0.05, 0.95, 3.0))
"""Weights lie far out beyond so many times the distance of two quantiles; the next pair, if the first two are equal."""


class Bin(NamedTuple):
    """The number of weights from ``least`` to less than ``below``."""

    least: float | None
    """None for the first bin if it holds all smaller weights."""
    below: float | None
    """None for the last bin if it holds all larger weights."""
    size: int


def histogram(weights: npt.NDArray[np.floating]) -> list[Bin]:
    """Count weights in bins of equal width; the outermost ones are open where weights lie far out.

    >>> [tuple(one) for one in histogram(np.array([1.0, 1.0, 2.0, 2.0, 3.0]))][:2]
    [(1.0, 1.2, 2), (1.2, 1.4, 0)]
    >>> histogram(np.array([1.0] * 999 + [1e9]))
    [Bin(least=1.0, below=1.05, size=999), Bin(least=1.05, below=None, size=1)]
    """
    if not len(weights):
        return []
    values = np.sort(weights)
    near = _near(values)
    low, high = float(near[0]), float(near[-1])
    step = _round_up((high - low) / (BINS - 1) or high / BINS or 1 / BINS)
    first, last = _place(low, step), _place(high, step) + 1
    # 0.1 has no exact double, and 3 * 0.1 is not 0.3: edges are the doubles that people write.
    digits = max(0, 1 - math.floor(math.log10(step)))
    edges = [round(place * step, digits) for place in range(first, last + 1)]
    # In the precision of the weights, so that a weight of 0.7 is not below the edge at 0.7.
    before = np.searchsorted(values, np.array(edges, values.dtype), side="left").tolist()
    bins = [
        Bin(least, below, after - so_far)
        for least, below, so_far, after in zip(edges, edges[1:], before, before[1:], strict=False)
    ]
    below, above = before[0], len(values) - before[-1]
    return [
        *([Bin(None, edges[0], below)] if below else []),
        *bins,
        *([Bin(edges[-1], None, above)] if above else []),
    ]


def _near(values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """The sorted weights that do not lie far out."""
    for lower, upper, far in MIDDLES:
        low, high = (float(one) for one in np.quantile(values, (lower, upper), method="nearest"))
        reach = far * (high - low)
        if reach:
            break
    near: npt.NDArray[np.floating] = values[(values >= low - reach) & (values <= high + reach)]
    return near


def _place(value: float, step: float) -> int:
    """The number of the step that a value is in; a value on an edge is in the step above it."""
    place = math.floor(value / step)
    return place + 1 if (place + 1) * step <= value * (1 + 1e-12) else place


def _round_up(width: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not smaller."""
    power: float = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width * (1 - 1e-9))
