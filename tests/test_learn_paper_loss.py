"""The paper's loss: that it is convex, and what minimises it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from chamfer import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.paper_loss import PaperLoss
from chamfer.learn.paper_optimisers import ITERATIONS, Minimum, adam, free_optimum, optimum, rate
from chamfer.learn.paper_variant import Variant, fit_variant
from chamfer.learn.presets import Preset
from chamfer.learn.recipes.paper import fit_paper
from tests.problems import SIZE, random_problem, uniform

Array = npt.NDArray[np.float64]
SMALL = Preset(0.3, 2, 4)


def small_problem(seed: int, *, queries: int = 3, candidates: int = 7, relevant: int = 2) -> list[JudgedQuery]:
    """Queries with several relevant documents and a candidate that is there twice."""
    generator = np.random.default_rng(seed)
    found = []
    for query in random_problem(seed, queries=queries, candidates=candidates):
        grades = np.zeros(candidates, np.int32)
        grades[generator.choice(candidates - 2, relevant, replace=False)] = 1
        distances = query.distances.copy()
        distances[-1] = distances[-2]
        found.append(replace(query, distances=distances, grades=grades))
    return found


def by_hand(queries: list[JudgedQuery], weights: Array, preset: Preset, pick: Callable[[Array, int], float]) -> float:
    """The loss as the paper writes it; ``pick`` returns what the negatives add to the sum of a softmax."""
    seen = np.unique(np.concatenate([query.token_ids for query in queries]))
    total = 0.0
    for query in queries:
        own = weights[np.searchsorted(seen, query.token_ids)]
        scores = np.exp(-(query.distances.astype(np.float64) @ own) / len(own))
        relevant, others = scores[query.grades > 0], scores[query.grades == 0]
        for part, negatives in ((preset.alpha, preset.closest), (1 - preset.alpha, preset.closer)):
            total -= part * np.log(relevant / (relevant.sum() + pick(others, negatives))).sum()
    return float(total)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 30.0]), st.booleans())
def test_the_loss_is_convex_while_its_negatives_change(seed: int, temperature: float, fixed_negatives: bool) -> None:
    generator = np.random.default_rng(seed)
    queries = small_problem(seed, queries=5, candidates=20)
    loss = PaperLoss(queries, SMALL, temperature=temperature, fixed_negatives=fixed_negatives)
    one, other = generator.uniform(0, 3, (2, len(loss.seen))) * (generator.random((2, len(loss.seen))) < 0.6)
    share = generator.random()
    between, slope = loss(share * one + (1 - share) * other)
    assert between <= share * loss(one)[0] + (1 - share) * loss(other)[0] + 1e-6
    for point in (one, other):
        assert loss(point)[0] >= between + slope @ (point - share * one - (1 - share) * other) - 1e-6, "a subgradient"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("zeros", [0, 8, SIZE])
def test_the_loss_is_the_largest_over_all_sets_of_negatives(seed: int, zeros: int) -> None:
    queries = small_problem(seed)
    loss = PaperLoss(queries, SMALL)
    weights = np.random.default_rng(seed).uniform(0, 3, len(loss.seen))
    weights[:zeros] = 0  # so that candidates tie; some of them do anyway

    def worst(others: Array, negatives: int) -> float:
        return max(float(np.sum(chosen)) for chosen in combinations(others, min(negatives, len(others))))

    assert loss(weights)[0] == pytest.approx(by_hand(queries, weights, SMALL, worst), rel=1e-6)


def test_the_loss_is_not_convex_if_each_candidate_counts_that_ties_for_the_last_place() -> None:
    """The recipe does that, as it always has."""
    queries = small_problem(3)
    loss = PaperLoss(queries, SMALL, share_ties=False)
    nothing, one = np.zeros(len(loss.seen)), np.eye(len(loss.seen))[0] * 1e-6
    ends = [loss(nothing + sign * one)[0] for sign in (-1, 1)]
    assert loss(nothing)[0] > np.mean(ends) + 0.1
    assert PaperLoss(queries, SMALL)(nothing)[0] <= np.mean(ends) + 1e-6


def test_fixed_negatives_are_those_under_uniform_weights() -> None:
    queries = small_problem(3, candidates=12)
    fixed, changing = PaperLoss(queries, SMALL, fixed_negatives=True), PaperLoss(queries, SMALL)
    ones = np.ones(len(fixed.seen))
    assert fixed(ones)[0] == pytest.approx(changing(ones)[0])
    other = np.random.default_rng(0).uniform(0, 9, len(ones))
    assert fixed(other)[0] < changing(other)[0]


@pytest.mark.parametrize("fixed_negatives", [False, True])
def test_the_gradient_is_that_of_the_loss(fixed_negatives: bool) -> None:
    loss = PaperLoss(small_problem(5), SMALL, temperature=3.0, fixed_negatives=fixed_negatives)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(loss.seen))
    steps = np.eye(len(weights)) * 1e-6
    quotients = [(loss(weights + step)[0] - loss(weights - step)[0]) / 2e-6 for step in steps]
    np.testing.assert_allclose(loss(weights)[1], quotients, atol=1e-5)


def test_a_temperature_is_a_sum_other_than_1() -> None:
    queries = small_problem(6)
    weights = np.random.default_rng(2).dirichlet(np.ones(len(PaperLoss(queries, SMALL).seen)))
    sharp = PaperLoss(queries, SMALL, temperature=50.0)(weights)[0]
    assert sharp == pytest.approx(PaperLoss(queries, SMALL)(50 * weights)[0], rel=1e-6)


def slsqp(loss: PaperLoss, *, sums_to_1: bool, bounded: bool = False) -> float:
    """The lowest loss that another solver finds."""
    size = len(loss.seen)
    kind = "ineq" if bounded else "eq"
    constraint = {"type": kind, "fun": lambda w: 1 - w.sum(), "jac": lambda w: -np.ones(size)}
    found = minimize(
        loss,
        np.full(size, 1 / size),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * size,
        constraints=[constraint] if sums_to_1 else [],
        options={"maxiter": 2000, "ftol": 1e-12},
    )
    return float(found.fun)


@pytest.mark.parametrize("temperature", [1.0, 12.0, 240.0])
def test_the_optimum_of_weights_that_sum_to_1(temperature: float) -> None:
    loss = PaperLoss(random_problem(7, candidates=12), SMALL, temperature=temperature, fixed_negatives=True)
    found = optimum(loss, len(loss.seen))
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1)
    assert found.loss is not None
    assert found.gap is not None
    start = loss(np.full(len(loss.seen), 1 / len(loss.seen)))[0]
    assert found.gap < 1e-3 * (start - found.loss), "nothing can be much better"
    assert found.loss <= slsqp(loss, sums_to_1=True) + 1e-3 * (start - found.loss)
    gradient = loss(found.weights)[1]
    assert gradient[found.weights > 1e-3].max() - gradient.min() < 1e-2 * np.abs(gradient).max(), "KKT conditions"


def test_tokens_outside_take_weight_that_would_do_harm() -> None:
    """If whatever is close is not relevant, no weight at all is best, and only tokens outside can have it."""
    queries = random_problem(8, candidates=12)
    for query in queries:
        query.grades[:] = 0
        query.grades[np.argmax(query.distances.sum(axis=1))] = 1
    loss = PaperLoss(queries, SMALL, temperature=20.0, fixed_negatives=True)
    tokens = len(loss.seen)
    inside, found = optimum(loss, tokens), optimum(loss, tokens, outside=30)
    assert inside.loss is not None
    assert found.loss is not None
    assert found.loss < inside.loss - 0.1
    assert found.loss == pytest.approx(slsqp(loss, sums_to_1=True, bounded=True), rel=1e-4)
    assert found.weights.sum() < 0.5


def test_the_optimum_with_a_free_sum_is_below_every_temperature() -> None:
    # Half of them have answers at random, so that no weights put all of them first.
    queries = [*random_problem(9, candidates=15), *small_problem(9, queries=20, candidates=15)]
    loss = PaperLoss(queries, SMALL, fixed_negatives=True)
    found = free_optimum(loss, len(loss.seen))
    assert found.loss is not None
    assert found.gap is not None
    assert found.weights.sum() > 1
    assert found.gap < 1e-3 * found.loss
    assert found.loss == pytest.approx(slsqp(loss, sums_to_1=False), rel=1e-4)
    for temperature in (1.0, 10.0, 100.0):
        scaled = PaperLoss(queries, SMALL, temperature=temperature, fixed_negatives=True)
        at_1 = optimum(scaled, len(loss.seen)).loss
        assert at_1 is not None
        assert found.loss <= at_1 + 1e-3


def test_no_weight_at_all_can_be_the_optimum() -> None:
    loss = PaperLoss(small_problem(9, queries=40, candidates=15), SMALL)  # answers at random
    found = free_optimum(loss, len(loss.seen))
    assert found.loss is not None
    assert found.gap is not None
    assert found.weights.sum() < 1
    assert found.gap < 1e-3 * found.loss


@pytest.mark.parametrize("temperature", [12.0, 240.0])
def test_the_gap_bounds_what_is_left_where_negatives_change(temperature: float) -> None:
    loss = PaperLoss(random_problem(10, queries=60), SMALL, temperature=temperature)
    found = optimum(loss, len(loss.seen))
    assert found.loss is not None
    assert found.gap is not None
    best = min(
        minimize(lambda v: loss(np.abs(v) / np.abs(v).sum())[0], start, method="Powell").fun
        for start in (found.weights + 1e-9, np.ones(len(loss.seen)))
    )
    assert found.loss - found.gap <= best + 1e-9
    start = loss(np.full(len(loss.seen), 1 / len(loss.seen)))[0]
    assert found.loss - best <= 0.05 * (start - best)


class TestAdam:
    def test_the_rates_add_up_to_a_path_of_half_a_percent(self) -> None:
        assert sum(rate(step) for step in range(1, ITERATIONS + 1)) == pytest.approx(5.05e-3, rel=1e-3)

    @staticmethod
    def steady(tokens: int, *, outside: int = 0) -> Minimum:
        """The first token is pushed down at every step, the others up."""
        slope = np.where(np.arange(tokens) == 0, 1.0, -1.0)
        return adam(lambda weights: (0.0, slope), tokens, outside=outside)

    def test_a_token_that_is_pushed_down_ends_at_0_if_there_are_many(self) -> None:
        assert self.steady(100).weights[0] > 0
        assert self.steady(3000).weights[0] == 0
        assert self.steady(100, outside=2900).weights[0] == 0, "where all tokens sum to 1, few queries are enough"

    def test_weights_sum_to_1_with_those_outside(self) -> None:
        assert self.steady(50).weights.sum() == pytest.approx(1)
        assert self.steady(50, outside=50).weights.sum() < 1

    def test_the_path_is_counted_in_initial_weights(self) -> None:
        found = adam(lambda weights: (0.0, np.array([1.0, -1.0])), 2)
        assert found.path == pytest.approx(2 * 5.05e-3, rel=1e-3)


class TestVariants:
    def test_the_recipe_is_the_default_variant(self) -> None:
        queries = random_problem(4, queries=150)
        table = fit_paper(queries, uniform()).table
        np.testing.assert_array_equal(fit_variant(queries, uniform(), Variant()).weights.table, table)
        before = [1.0504, 1.0504, 1.0504, 1.0504, 1.0500, 0.9302, 0.9300, 0.9300, 1.0501, 1.0481, 0.9300, 0.9300]
        np.testing.assert_allclose(table, before, rtol=1e-4)  # the recipe's before it had variants

    @pytest.mark.parametrize(
        "variant",
        [
            Variant(total="all"),
            Variant(temperature=240.0),
            Variant(Preset(1, 10, 100)),
            Variant(optimiser="convex"),
            Variant(optimiser="convex", total="free"),
        ],
    )
    def test_each_gives_other_weights_with_the_mass_of_idf(self, variant: Variant) -> None:
        queries = [query for query in random_problem(8) if 11 not in query.token_ids]
        idf = uniform()
        idf.table[11] = 7
        weights, found = fit_variant(queries, idf, variant)
        assert weights.table[11] == 7
        assert weights.table[:11].sum() == pytest.approx(11, rel=1e-5)
        assert not np.allclose(weights.table, fit_paper(queries, idf).table, rtol=1e-3)
        assert (found.path is None) == (variant.optimiser == "convex")

    def test_negatives_can_be_fixed(self) -> None:
        sharp = Variant(Preset(1, 2, 100), temperature=240.0, optimiser="convex")
        changing, fixed = (
            fit_variant(random_problem(8), uniform(), one).weights.table
            for one in (sharp, replace(sharp, fixed_negatives=True))
        )
        assert not np.allclose(changing, fixed, rtol=1e-2)

    def test_adam_needs_a_sum(self) -> None:
        with pytest.raises(InputError, match="sum to 1"):
            Variant(total="free")
