"""Significance of differences between systems."""

import numpy as np
import pytest

from chamfer import InputError
from chamfer.evaluate.significance import (
    bootstrap_interval,
    compare,
    holm,
    one_sided_p_value,
    permuted_sums,
    relative_interval,
)


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


def test_groups_of_one_query_change_nothing() -> None:
    generator = np.random.default_rng(2)
    system, baseline = generator.random((2, 30))
    groups = np.arange(30)[::-1] + 7
    assert compare(system, baseline, groups=np.arange(30)) == compare(system, baseline)
    assert compare(system, baseline, groups=groups).p_value == pytest.approx(
        compare(system, baseline).p_value, abs=0.02
    )
    assert bootstrap_interval(system, groups=np.arange(30)) == bootstrap_interval(system)
    assert relative_interval(system, baseline, groups=np.arange(30)) == relative_interval(system, baseline)


def test_a_query_asked_many_times_counts_once() -> None:
    generator = np.random.default_rng(3)
    system, baseline = generator.random((2, 12))
    groups = np.repeat(np.arange(12), 5)
    often, before = np.repeat(system, 5), np.repeat(baseline, 5)
    once, repeated = compare(system, baseline), compare(often, before, groups=groups)
    assert repeated.p_value == once.p_value > compare(often, before).p_value
    assert repeated.difference == pytest.approx(once.difference)
    assert (repeated.wins, repeated.losses) == (5 * once.wins, 5 * once.losses), "which are of queries"
    assert bootstrap_interval(often, groups=groups) == pytest.approx(bootstrap_interval(system))
    assert relative_interval(often, before, groups=groups) == pytest.approx(relative_interval(system, baseline))


def test_groups_are_swapped_as_a_whole() -> None:
    gains = np.array([0.4, 0.1, 0.2, 0.3, -0.1])
    groups = np.array([4, 4, 9, 4, 9])
    assert compare(gains, np.zeros(5), groups=groups).p_value == pytest.approx(1 / 2, abs=0.02), "0.8 and 0.1, swapped"


def test_a_mean_over_queries_stays_one_when_groups_differ_in_size() -> None:
    assert bootstrap_interval(np.full(6, 0.5), groups=np.array([0, 0, 0, 0, 1, 2])) == pytest.approx((0.5, 0.5))


def test_every_query_needs_a_group() -> None:
    values = np.ones(3)
    for function in (
        lambda: compare(values, values, groups=np.zeros(2, np.int64)),
        lambda: bootstrap_interval(values, groups=np.zeros(2, np.int64)),
        lambda: relative_interval(values, values, groups=np.zeros(4, np.int64)),
    ):
        with pytest.raises(InputError, match=r"every query needs a group; got [24] groups for 3 queries"):
            function()


def test_a_relative_interval_resamples_the_baseline_too() -> None:
    generator = np.random.default_rng(4)
    baseline = generator.random(60)
    assert relative_interval(1.1 * baseline, baseline) == pytest.approx((0.1, 0.1)), "a constant factor has no noise"
    low, high = bootstrap_interval(0.1 * baseline)
    assert low / baseline.mean() < 0.09 < 0.11 < high / baseline.mean(), "that of the difference is wide"


def test_a_relative_interval_covers_the_change_as_often_as_it_says() -> None:
    generator = np.random.default_rng(5)
    covered = 0
    for seed in range(300):
        shared = generator.exponential(1.0, 20)  # queries of a group are alike
        baseline = np.repeat(shared, 4) * generator.uniform(0.5, 1.5, 80)
        system = np.repeat(shared * generator.normal(1.2, 0.3, 20), 4)
        low, high = relative_interval(system, baseline, groups=np.repeat(np.arange(20), 4), samples=400, seed=seed)
        covered += low <= 0.2 <= high
    assert 260 < covered < 297


def test_a_relative_change_needs_a_baseline() -> None:
    with pytest.raises(InputError, match="a baseline that is not 0"):
        relative_interval(np.ones(3), np.zeros(3))
    low, high = relative_interval(np.array([0.2, 0.2]), np.array([0.1, 0.0]))
    assert np.isfinite([low, high]).all(), "a sample without a baseline says nothing"
