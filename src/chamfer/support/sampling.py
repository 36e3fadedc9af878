"""Drawing a random sample."""

import numpy as np
import numpy.typing as npt


def draw(total: int, count: int, generator: np.random.Generator | None = None) -> npt.NDArray[np.int64]:
    """``count`` different places below ``total``, or all of them if there are fewer, drawn at random, in order.

    Args:
        total: number of things to draw from.
        count: maximum number of places to draw.
        generator: source of randomness, for several draws; by default a new one with the seed 0.

    >>> draw(10, 3).tolist(), draw(2, 3).tolist()
    ([5, 6, 9], [0, 1])
    """
    generator = np.random.default_rng(0) if generator is None else generator
    return np.sort(generator.choice(total, min(count, total), replace=False))
