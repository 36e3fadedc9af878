"""What chance alone would do: for paired differences, for their mean, for many comparisons at once."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FLIPS = 10_000
SAMPLES = 2_000


def flipped_sums(differences: npt.NDArray[np.float64], *, flips: int = FLIPS, seed: int = 0) -> npt.NDArray[np.float64]:
    """Sums of differences whose signs were drawn at random, ``flips`` times.

    If two systems were equal, each query's two values could be swapped, which turns the sign of its difference.
    """
    changed = differences[differences != 0]  # a swap of equal values changes nothing
    generator = np.random.default_rng(seed)
    sums = []
    for start in range(0, flips, 500):
        signs = generator.integers(0, 2, size=(min(500, flips - start), len(changed)), dtype=np.int8) * 2 - 1
        sums.append(signs @ changed)
    return np.concatenate(sums)


def share_beyond(sums: npt.NDArray[np.float64], observed: float) -> float:
    """The p-value: the share of sums, the observed one among them, that are at least as large."""
    # 1e-9 below: the real arrangement, summed in another order, must count as itself
    return (int((sums >= observed - 1e-9).sum()) + 1) / (len(sums) + 1)


def bootstrap_interval(
    differences: npt.NDArray[np.float64], *, share: float = 0.95, samples: int = SAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Where the mean of differences lies in ``share`` of samples that were drawn from them anew.

    >>> bootstrap_interval(np.array([0.5, 0.5, 0.5]))
    (0.5, 0.5)
    """
    count = len(differences)
    generator = np.random.default_rng(seed)
    means = generator.multinomial(count, np.full(count, 1 / count), samples) @ differences / count
    low, high = np.quantile(means, [(1 - share) / 2, (1 + share) / 2]).tolist()
    return low, high


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several comparisons, corrected so that the chance of one false finding among all stays what it is.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        corrected[place] = largest
    return corrected
