"""What chance alone would do, for paired differences."""

import numpy as np
import numpy.typing as npt

FLIPS = 10_000


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
