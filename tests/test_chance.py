"""The test of significance."""

import numpy as np
import pytest

from chamfer.chance import flipped_sums, share_beyond


def test_the_p_value_of_few_queries_is_what_counting_gives() -> None:
    gains = np.array([0.5, 0.25, 0.125, 0.0])
    assert share_beyond(flipped_sums(gains), float(gains.sum())) == pytest.approx(1 / 8, abs=0.01)
    assert share_beyond(flipped_sums(gains), -1.0) == 1
    assert share_beyond(flipped_sums(np.zeros(5)), 0.0) == 1


def test_flips_are_seeded() -> None:
    gains = np.random.default_rng(0).normal(size=20)
    np.testing.assert_array_equal(flipped_sums(gains, seed=3), flipped_sums(gains, seed=3))
    assert (flipped_sums(gains, seed=3) != flipped_sums(gains, seed=4)).any()
