"""The paper's bounds, checked against problems whose answer is known."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from chamfer import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.theory import chernoff_rate, generalisation_bound, pairs_needed, sample_complexity
from tests.problems import random_problem


def query_of(token_ids: list[int], distances: list[list[float]]) -> JudgedQuery:
    """A query with given minima: a row for each candidate."""
    many = len(distances)
    return JudgedQuery(
        "q",
        np.array(token_ids, np.int32),
        np.zeros((len(token_ids), 2), np.float32),
        np.array(distances, np.float32),
        np.zeros(many, np.int32),
        np.zeros(0, np.int32),
    )


class TestRecovery:
    def test_hidden_weights_are_recovered_once_the_matrix_has_full_rank(self) -> None:
        queries = random_problem(2, queries=60)
        hidden = np.random.default_rng(3).uniform(0.1, 2, 12)
        rows, scores = [], []
        for query in queries:
            x = np.zeros((len(query.distances), 12))
            np.add.at(x.T, query.token_ids, query.distances.T)
            rows.append(x)
            scores.append(x @ hidden)
        recovered = np.linalg.lstsq(np.concatenate(rows), np.concatenate(scores), rcond=None)[0]
        np.testing.assert_allclose(recovered, hidden, atol=1e-6)
        assert sample_complexity(queries).smallest_eigenvalue > 0

    def test_the_form_l2_is_linear_in_distances(self) -> None:
        double = query_of([0, 1], [[0.3, 0.6], [0.5, 1.0], [0.7, 1.4]])
        found = sample_complexity([double])
        assert found.needed is None, "one token is always twice as far as the other, so scores cannot tell them apart"
        assert found.smallest_eigenvalue == pytest.approx(0, abs=1e-9)

    def test_the_form_cosine_is_linear_in_cosines(self) -> None:
        cosines = np.array([[0.9, 0.5], [0.4, 0.8], [0.7, 0.7]])
        found = sample_complexity([query_of([0, 1], (-cosines).tolist())], form="cosine")
        assert found.smallest_eigenvalue == pytest.approx(np.linalg.eigvalsh(cosines.T @ cosines / 6)[0], rel=1e-5)
        assert found.largest == pytest.approx((cosines**2).sum(axis=1).max() / 2)

    def test_one_token_per_query_is_collecting_coupons(self) -> None:
        tokens, delta = 10, 0.05
        found = sample_complexity([query_of([token], [[0.7]]) for token in range(tokens)], delta=delta)
        assert found.needed == pytest.approx(tokens * math.log(tokens / delta), rel=1e-5)
        drawn = math.ceil(found.needed or 0)
        missed = sum(
            (-1) ** (k + 1) * math.comb(tokens, k) * (1 - k / tokens) ** drawn for k in range(1, tokens + 1)
        )  # the probability that a token is never drawn, by inclusion and exclusion
        assert delta / 2 < missed <= delta, "the bound holds, and is nearly sharp"

    def test_units_do_not_matter(self) -> None:
        queries = random_problem(5, queries=20)
        twice = [query_of(one.token_ids.tolist(), (2 * one.distances).tolist()) for one in queries]
        assert sample_complexity(twice).needed == pytest.approx(sample_complexity(queries).needed, rel=1e-4)

    def test_a_repeated_token_raises_the_cap(self) -> None:
        once = sample_complexity([query_of([0, 1], [[2.0, 2.0], [2.0, 0.1]])])
        assert once.largest == pytest.approx(4), "two unit vectors are at most 2 apart"
        thrice = sample_complexity([query_of([0, 0, 0], [[2.0, 2.0, 2.0]])])
        assert thrice.largest == pytest.approx(12)

    def test_exact_scores_need_an_invertible_matrix_and_no_more(self) -> None:
        queries = random_problem(6, queries=20)
        limit, half = sample_complexity(queries), sample_complexity(queries, epsilon=0.5)
        assert limit.needed is not None
        assert half.needed is not None
        assert half.needed / limit.needed == pytest.approx(6.5178, abs=1e-3)
        for epsilon in (0.0, 1.1):
            with pytest.raises(InputError, match="epsilon above 0 and at most 1"):
                sample_complexity(queries, epsilon=epsilon)

    def test_candidates_without_text_do_not_count(self) -> None:
        empty = query_of([0], [[math.inf]])
        assert sample_complexity([query_of([0], [[0.5]]), empty]).pairs == 1
        with pytest.raises(InputError, match="at least one candidate with text"):
            sample_complexity([empty])


class TestRate:
    @pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9, 1.0])
    @pytest.mark.parametrize(("flips", "heads"), [(400, 0.5), (4000, 0.05)])
    def test_the_tail_of_coin_flips_obeys_our_sign_and_not_the_printed_one(
        self, epsilon: float, flips: int, heads: float
    ) -> None:
        mean = flips * heads
        tail = binom.logcdf(math.floor((1 - epsilon) * mean), flips, heads)
        assert tail <= -mean * chernoff_rate(epsilon)
        printed = epsilon - (1 - epsilon) * (math.log(1 - epsilon) if epsilon < 1 else 0)
        if epsilon < 0.9:
            assert tail > -mean * printed, "the printed exponent promises too much"

    def test_it_grows_from_0_to_1(self) -> None:
        rates = [chernoff_rate(epsilon) for epsilon in np.linspace(1e-3, 1, 50)]
        assert rates == sorted(rates)
        assert rates[-1] == 1
        assert chernoff_rate(1e-3) == pytest.approx(1e-6 / 2, rel=1e-3)


class TestGeneralisation:
    def test_the_bounds_fall_with_more_pairs(self) -> None:
        assert generalisation_bound(100, 10**7) < generalisation_bound(100, 10**6)
        falling = [generalisation_bound(100, pairs) for pairs in (1, 50, 100, 101, 102, 200, 1000)]
        assert falling == sorted(falling, reverse=True)
        needed = pairs_needed(100, 0.5)
        assert generalisation_bound(100, needed) <= 0.5 < generalisation_bound(100, int(needed * 0.99))
        with pytest.raises(InputError, match="above 0"):
            pairs_needed(100, 0)

    def test_it_counts_a_weight_per_token_and_the_threshold(self) -> None:
        pairs, delta = 10**6, 0.05
        expected = 4 * math.sqrt(2 * 101 * math.log(math.e * pairs / 101) / pairs)
        expected += math.sqrt(2 * math.log(2 / delta) / pairs)
        assert generalisation_bound(100, pairs, delta=delta) == pytest.approx(expected)

    def test_pairs_grow_in_proportion_to_tokens_without_a_logarithm(self) -> None:
        few, many = pairs_needed(99, 0.1), pairs_needed(99_999, 0.1)
        assert many / few == pytest.approx(1000, rel=0.05)
        loosened = 2 * 128 / 0.1**2
        assert few <= 100 * loosened * (1 + math.log(loosened)), "the closed form of docs/explanation/theory.md"

    def test_real_weights_and_a_threshold_shatter_one_point_more_than_there_are_tokens(self) -> None:
        tokens = 4
        points = np.vstack([0.5 * np.eye(tokens), 0.9 * np.eye(tokens)[:1]])
        lifted = np.hstack([points, -np.ones((tokens + 1, 1))])
        assert np.linalg.matrix_rank(lifted) == tokens + 1, "any signs can be solved for"

    def test_weights_that_are_not_negative_shatter_one_point_fewer(self) -> None:
        generator = np.random.default_rng(0)
        for tokens in (1, 2, 3):
            assert _labellings(np.eye(tokens)) == 2**tokens
            for _ in range(10):
                assert _labellings(generator.uniform(0, 2, (tokens + 1, tokens))) < 2 ** (tokens + 1)


def _labellings(points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> int:
    """How many ways non-negative weights and a threshold divide some points: ``w x <= t`` or ``w x >= t + 1``."""
    many, tokens = points.shape
    count = 0
    for relevant in product((True, False), repeat=many):
        sign = np.where(relevant, 1.0, -1.0)[:, None]
        rows = sign * np.hstack([points, -np.ones((many, 1))])
        limits = np.where(relevant, 0.0, -1.0)
        bounds = [(0, None)] * tokens + [(None, None)]
        count += linprog(np.zeros(tokens + 1), A_ub=rows, b_ub=limits, bounds=bounds).status == 0
    return count
