"""Losses, gradients and the recipes that minimise them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer import Collection, Encoder, InputError, TokenWeights, learn
from chamfer.learn.fitting import fit_configurations
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import Pool, cross_entropy, pack
from chamfer.learn.presets import PRESETS, Preset, preset_from
from chamfer.learn.quality import quality
from chamfer.learn.recipe_names import NAMES
from chamfer.learn.recipes.paper import fit_paper
from chamfer.learn.recipes.prior import fit_prior
from chamfer.learn.registry import all_recipes, configurations_of
from chamfer.learn.solver import Learner
from tests.problems import SIZE, random_problem, start, uniform


def test_the_gradient_is_that_of_the_loss() -> None:
    queries = random_problem(0, queries=5, candidates=6)
    for context in (False, True):
        learner = Learner(queries, uniform(), context=context)
        size = len(learner._seen) + learner._dimensions + 1  # and the factor of all scores
        x = np.random.default_rng(1).normal(0, 0.3, size)
        steps = np.eye(size) * 1e-2
        quotients = [(learner._loss(x + h, 3.0, 1.0)[0] - learner._loss(x - h, 3.0, 1.0)[0]) / 2e-2 for h in steps]
        # 32-bit arithmetic inside, so the quotients are good to about 1e-3
        np.testing.assert_allclose(learner._loss(x, 3.0, 1.0)[1], quotients, atol=2e-3)


def test_cross_entropy_counts_relevant_and_the_hardest_others() -> None:
    scores = np.array([[2.0, 1.0, 0.0, -1.0, 9.0]], np.float32)
    relevant = np.array([[True, False, False, False, False]])
    is_candidate = np.array([[True, True, True, True, False]])
    loss, gradient = cross_entropy(scores, relevant, is_candidate, negatives=2)
    shares = np.exp([2.0, 1.0, 0.0])
    np.testing.assert_allclose(loss, [-np.log(shares[0] / shares.sum())], rtol=1e-5)
    np.testing.assert_allclose(gradient[0, :3], shares / shares.sum() - [1, 0, 0], rtol=1e-5)
    np.testing.assert_array_equal(gradient[0, 3:], [0, 0])


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_paper_loss_is_convex_in_the_weights(seed: int) -> None:
    generator = np.random.default_rng(seed)
    distances = generator.uniform(0, 2, (8, 5))
    relevant = np.arange(8)[None] < 2

    def loss(weights: np.ndarray) -> float:
        scores = -(distances @ weights)[None].astype(np.float64)
        return float(cross_entropy(scores, relevant, np.ones((1, 8), np.bool_), negatives=8)[0][0])

    one, other = generator.uniform(0, 3, (2, 5))
    assert loss((one + other) / 2) <= (loss(one) + loss(other)) / 2 + 1e-9

    def gradient(weights: np.ndarray) -> np.ndarray:
        scores = -(distances @ weights)[None]
        of_scores = cross_entropy(scores, relevant, np.ones((1, 8), np.bool_), negatives=8)[1][0]
        return np.asarray(-of_scores @ distances)

    hessian = np.array([(gradient(one + step) - gradient(one - step)) / 2e-4 for step in np.eye(5) * 1e-4])
    assert np.linalg.eigvalsh((hessian + hessian.T) / 2).min() >= -1e-6


@pytest.mark.parametrize("recipe", ["paper", "prior", "context"])
def test_recipes_find_what_matters(recipe: str) -> None:
    train, test = random_problem(4, queries=150), random_problem(5, queries=80)
    if recipe == "paper":
        weights = fit_paper(train, uniform())
    else:
        weights = fit_prior(train, uniform(), penalty=1.0, context_penalty=1.0 if recipe == "context" else None)
    assert weights.table[:4].min() > weights.table[4:].max()
    # Adam's steps of 1e-4 on weights that sum to 1 move the paper's little in 100 iterations
    assert quality(test, weights).mean() > quality(test, uniform()).mean() + (0.0 if recipe == "paper" else 0.1)


def test_the_same_input_gives_the_same_weights() -> None:
    queries = random_problem(6)
    first, second = (fit_prior(queries, uniform(), context_penalty=1.0) for _ in range(2))
    np.testing.assert_array_equal(first.table, second.table)
    assert first.context is not None
    assert second.context is not None
    np.testing.assert_array_equal(first.context, second.context)
    np.testing.assert_array_equal(fit_paper(queries, uniform()).table, fit_paper(queries, uniform()).table)


@pytest.mark.parametrize("sharpness", [0.0, 5.0, 100.0])
def test_weights_stay_where_uniform_ones_are_right_however_sharp_the_labels_are(sharpness: float) -> None:
    """With a fixed factor of the scores, frequent tokens lost four fifths of their weight on random labels."""
    generator = np.random.default_rng(3)
    chances = 1 / np.arange(1, SIZE + 1)
    queries = []
    for place in range(300):
        ids = generator.choice(SIZE, 4, replace=False, p=chances / chances.sum()).astype(np.int32)
        distances = generator.uniform(0.2, 1.4, (100, 4)).astype(np.float32)
        close = np.exp(-sharpness * distances.mean(axis=1, dtype=np.float64))
        grades = np.zeros(100, np.int32)
        grades[generator.choice(100, p=close / close.sum())] = 1
        queries.append(JudgedQuery(f"q{place}", ids, np.zeros((4, 1), np.float32), distances, grades, np.ones(1, int)))
    table = fit_prior(queries, uniform(), penalty=3.0).table
    frequent, rare = np.log(table[:4]).mean(), np.log(table[-4:]).mean()
    assert abs(frequent - rare) < 0.3


def test_a_heavy_penalty_keeps_the_prior() -> None:
    weights = fit_prior(random_problem(7), uniform(), penalty=1e9)
    np.testing.assert_allclose(weights.table, 1, atol=1e-3)


def test_the_paper_keeps_idf_where_no_query_has_the_token_and_the_mass_where_one_has() -> None:
    queries = [q for q in random_problem(8) if 11 not in q.token_ids]
    idf = uniform()
    idf.table[11] = 7
    weights = fit_paper(queries, idf)
    assert weights.table[11] == 7
    assert weights.table[:11].sum() == pytest.approx(11, rel=1e-5)
    assert (weights.table >= 0).all()


def test_the_published_presets_are_complete() -> None:
    assert len(PRESETS) == 13
    assert PRESETS["scifact"] == Preset(0.1, 50, 250)
    assert Preset() == Preset(0.1, 10, 100)


def test_a_preset_is_a_name_or_three_numbers() -> None:
    assert preset_from("scifact", "paper") == (0.1, 50, 250)
    assert preset_from((0.5, 5, 100), "auto") == Preset(0.5, 5, 100)
    assert preset_from((0, 0, 100), "paper") == PRESETS["trec-covid"]
    assert preset_from(None, "prior") is None


@pytest.mark.parametrize(
    ("preset", "recipe", "message"),
    [
        ("msmarco", "paper", "one of arguana, .* not 'msmarco'"),
        ("scifact", "prior", "a preset needs the recipe paper or auto, not prior"),
        ((0.1, 10), "paper", r"such as \(0.1, 10, 100\), not \(0.1, 10\)"),
        ((1.1, 10, 100), "auto", "a number from 0 to 1"),
        ((0.1, 0, 100), "auto", "two numbers of negatives"),
        ((0.1, 10, 0), "auto", "two numbers of negatives"),
        ((0.1, 10.5, 100), "auto", "two numbers of negatives"),
        (0.1, "auto", "not 0.1"),
    ],
)
def test_a_wrong_preset_is_refused_before_a_model_is_loaded(
    preset: Any, recipe: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Encoder, "load", lambda *_: pytest.fail("a model was loaded"))
    pets = Collection("pets", {"a": "Cats sleep."}, {"q": "cats"}, {"train": {"q": {"a": 1}}})
    with pytest.raises(InputError, match=message):
        learn(pets, recipe=recipe, preset=preset)


def test_packing_keeps_every_distance_and_every_relevant_document() -> None:
    queries = random_problem(12, queries=70) + random_problem(13, queries=3, tokens=9, candidates=50)
    blocks = pack(queries, pool=Pool(closest=6, drawn=4))
    assert sum(len(block.relevant) for block in blocks) == 73
    for block in blocks:
        assert (block.relevant.sum(axis=1) >= 1).all()
        assert block.is_candidate.sum(axis=1).max() <= 11


def test_drawn_candidates_stand_for_all_that_are_not_among_the_closest() -> None:
    (query,) = random_problem(12, queries=1, candidates=200)
    (block,) = pack([query], pool=Pool(closest=20, drawn=30))
    (every,) = pack([query])
    assert block.is_candidate.sum() == 51
    others = block.is_candidate & ~block.relevant
    np.testing.assert_allclose(np.exp(block.stands_for[others]).sum(), 199, rtol=1e-5)
    close = np.sort(every.distances.sum(axis=2)[~every.relevant])[:20]
    found = np.sort(block.distances.sum(axis=2)[others & (block.stands_for == 0)])
    np.testing.assert_allclose(found, close)
    (again,) = pack([query], pool=Pool(closest=20, drawn=30))
    np.testing.assert_array_equal(again.distances, block.distances)
    (another,) = pack([query], pool=Pool(closest=20, drawn=30, seed=1))
    assert (another.distances != block.distances).any()


def test_the_loss_of_a_pool_estimates_the_loss_of_all_candidates() -> None:
    (query,) = random_problem(14, queries=1, candidates=400)
    losses = []
    for pool in (None, *(Pool(closest=40, drawn=40, seed=seed) for seed in range(40))):
        (block,) = pack([query], pool=pool)
        scores = -5 * block.distances.sum(axis=2) + block.stands_for
        losses.append(float(cross_entropy(scores, block.relevant, block.is_candidate)[0][0]))
    assert abs(np.mean(losses[1:]) - losses[0]) < 0.02


def test_every_recipe_is_fitted_under_its_own_name() -> None:
    assert sorted(all_recipes()) == sorted(NAMES)
    assert {name: len(configurations_of([name])) for name in NAMES} == {
        "paper": len(set(PRESETS.values())),
        "prior": 3,
        "context": 6,
        "mix": 6,
        "adapter": 3,
    }
    configurations = configurations_of(NAMES)
    assert len({one.name for one in configurations}) == len(configurations) == 19
    order = ["paper", *["prior"] * 3, *["context"] * 6, *["mix"] * 6, *["adapter"] * 3]
    assert [one.recipe for one in configurations] == order
    for name, context, mix in (("prior", False, False), ("context", True, False), ("mix", True, True)):
        fitted = dict(fit_configurations(random_problem(15, queries=12), start(), configurations_of([name])))
        assert {weights.metadata["recipe"] for weights in fitted.values()} == {name}
        assert {(weights.context is not None, bool(weights.mix)) for weights in fitted.values()} == {(context, mix)}


def test_context_is_kept_with_the_weights(tmp_path: Path) -> None:
    learnt = fit_prior(random_problem(17), uniform(), context_penalty=0.1)
    learnt.save(tmp_path / "w.safetensors")
    loaded = TokenWeights.load(tmp_path / "w.safetensors")
    query = random_problem(18, queries=1)[0]
    assert learnt.context is not None
    expected = learnt.table[query.token_ids] * np.exp(query.vectors @ learnt.context)
    np.testing.assert_allclose(loaded.of_tokens(query.token_ids, query.vectors), expected, rtol=1e-5)
    with pytest.raises(InputError, match="vectors of 6 dimensions, not 3"):
        loaded.of_tokens(query.token_ids, query.vectors[:, :3])
    with pytest.raises(InputError, match="one number per token"):
        loaded.save(tmp_path / "w.json")
