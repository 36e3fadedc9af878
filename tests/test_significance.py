"""Significance of differences between systems."""

import numpy as np
import pytest

from chamfer.evaluate.significance import bootstrap_interval, holm, one_sided_p_value, permuted_sums


def test_the_p_value_of_few_queries_is_what_counting_gives() -> None:
    gains = np.array([0.5, 0.25, 0.125, 0.0])
    assert one_sided_p_value(gains) == pytest.approx(1 / 8, abs=0.01)
    assert one_sided_p_value(-gains) == 1
    assert one_sided_p_value(np.zeros(5)) == 1


def test_permutations_are_seeded() -> None:
    gains = np.random.default_rng(0).normal(size=20)
    np.testing.assert_array_equal(permuted_sums(gains, seed=3), permuted_sums(gains, seed=3))
    assert (permuted_sums(gains, seed=3) != permuted_sums(gains, seed=4)).any()


def test_holm_corrects_the_smallest_most_and_never_reorders() -> None:
    assert holm([]) == []
    assert holm([0.5]) == [0.5]
    assert holm([0.01, 0.01, 0.01]) == [0.03, 0.03, 0.03]
    assert holm([0.04, 0.001, 0.9, 0.03]) == pytest.approx([0.09, 0.004, 0.9, 0.09])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_holm_keeps_the_chance_of_a_false_finding() -> None:
    generator = np.random.default_rng(0)
    found = sum(min(holm(generator.random(10).tolist())) < 0.05 for _ in range(2000))
    assert 60 < found < 140, "about 5 % of 2000 families in which nothing is true"


def test_a_bootstrap_interval_covers_the_mean_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    covered = 0
    for seed in range(300):
        low, high = bootstrap_interval(generator.normal(0.1, 1.0, 80), samples=400, seed=seed)
        covered += low <= 0.1 <= high
    assert 270 < covered < 297
