"""Configurations, folds, blends and the choice between them."""

import json
from typing import Any

import numpy as np
import pytest

from chamfer import InputError, TokenWeights
from chamfer.learn.blend import blend
from chamfer.learn.fit import fit_weights
from chamfer.learn.folds import cross_validation, fit_folds, measure_folds
from chamfer.learn.quality import quality
from chamfer.learn.recipe import Contender
from chamfer.learn.recipe_names import NAMES
from chamfer.learn.recipes.prior import fit_prior
from chamfer.learn.registry import configurations_of
from chamfer.learn.selection import BLEND, by_lower_bound, choose_best, choose_significant
from chamfer.learn.solver import PenaltyConfiguration
from chamfer.learn.start import IDF, IDF_WITHOUT_SPECIAL, SOFT, UNIFORM
from tests.problems import random_problem, start, uniform


def test_cross_validation_measures_every_query_once_on_weights_that_never_saw_it() -> None:
    queries = random_problem(14, queries=31)
    configurations = configurations_of(["prior"])
    divided = cross_validation(queries, folds=3)
    assert sorted(np.concatenate([fold.places for fold in divided])) == list(range(31))
    for fold in divided:
        assert len(fold.train) + len(fold.held_out) == 31
        assert not {query.query_id for query in fold.train} & {query.query_id for query in fold.held_out}
    fitted = fit_folds(divided, start(), configurations)
    measured = measure_folds(divided, fitted)
    assert set(measured) == set(configurations)
    one = configurations[0]
    np.testing.assert_array_equal(measured[one][divided[2].places], quality(divided[2].held_out, fitted[one][2]))
    again = measure_folds(divided, fit_folds(cross_validation(queries, folds=3), start(), configurations))
    np.testing.assert_array_equal(again[one], measured[one])
    with pytest.raises(InputError, match="at least 3 judged queries"):
        cross_validation(queries[:2], folds=3)


def test_a_blend_is_the_geometric_mean_of_its_members() -> None:
    queries = random_problem(26)
    several = [fit_prior(queries, uniform(), penalty=p, context_penalty=c) for p, c in ((1, None), (3, 1.0), (10, 0.1))]
    ids, vectors = queries[0].token_ids, queries[0].vectors
    expected = np.exp(np.mean([np.log(one.of_tokens(ids, vectors)) for one in several], axis=0))
    np.testing.assert_allclose(blend(several).of_tokens(ids, vectors), expected, rtol=1e-4)
    assert blend([several[0]]).context is None
    assert [member["penalty"] for member in blend(several).metadata["members"]] == [1, 3, 10]
    silent = TokenWeights(np.zeros(12, np.float32), uniform().vocabulary)
    with pytest.raises(InputError, match="only weights above 0 can be blended"):
        blend([several[0], silent])
    with pytest.raises(InputError, match="a prior must be above 0"):
        fit_prior(queries, silent)


def test_uniform_stays_when_nothing_beats_it_beyond_noise() -> None:
    generator = np.random.default_rng(16)
    uniform_values = generator.uniform(0, 1, (50, 2))
    noisy = np.clip(uniform_values + generator.normal(0.001, 0.2, (50, 2)), 0, 1)
    better = np.clip(uniform_values + generator.normal(0.2, 0.1, (50, 2)), 0, 1)
    assert choose_significant({UNIFORM: uniform_values, BLEND: uniform_values - 0.1}, BLEND).name == "uniform"
    assert choose_significant({UNIFORM: uniform_values, BLEND: better}, BLEND).name == "blend"
    kept = choose_significant({UNIFORM: uniform_values, BLEND: noisy}, BLEND)
    assert kept.name == "uniform"
    assert kept.why.startswith("the blend does not beat uniform weights significantly (mean of nDCG@10 and Recall@10 ")
    assert kept.why.endswith("; no other configuration was tested, to avoid multiple comparisons")


def test_only_if_the_favourite_passes_may_another_win() -> None:
    flat = np.full((40, 2), 0.5)
    best, good = flat + 0.2, flat + np.random.default_rng(0).normal(0.1, 0.05, (40, 2))
    assert choose_significant({UNIFORM: flat, IDF: best, BLEND: good}, BLEND).name == "idf"
    assert choose_significant({UNIFORM: flat, IDF: best, BLEND: flat}, BLEND).name == "uniform"


def test_three_queries_are_no_evidence_however_alike_their_gains() -> None:
    flat = np.full((3, 2), 0.5)
    assert choose_significant({UNIFORM: flat, BLEND: flat + 0.25}, BLEND).name == "uniform"


@pytest.mark.parametrize("recipe", ["auto", "paper", "prior", "context"])
def test_fit_weights_reports_every_configuration_and_its_choice(recipe: Any) -> None:
    train, validation = random_problem(19, queries=60), random_problem(20, queries=30)
    for held_out in ((), validation):
        weights, report = fit_weights(train, start(), recipe=recipe, validation=held_out)
        names = [row.name for row in report.rows]
        assert report.choice.name in names
        assert {"uniform", "idf", "idf-soft"} < set(names)
        assert report.queries == 60 + len(held_out)
        assert all(row.ndcg_interval[0] <= row.ndcg <= row.ndcg_interval[1] for row in report.rows)
        assert all(row.wins + row.ties + row.losses == (30 if held_out else 60) for row in report.rows)
        assert np.isfinite(weights.table).all()
        json.dumps(report.as_json())
    if recipe != "paper":
        assert quality(validation, weights).mean() > quality(validation, uniform()).mean()


def test_fit_weights_keeps_uniform_where_labels_say_nothing() -> None:
    kept = 0
    for seed in range(12):
        queries = random_problem(seed, queries=30)
        generator = np.random.default_rng(seed)
        for query in queries:
            query.grades[:] = generator.permutation(query.grades)
        weights, report = fit_weights(queries, start())
        if report.choice.name == "uniform":
            kept += 1
            np.testing.assert_array_equal(weights.table, 1)
    assert kept >= 10, "luck passes one time in twenty"
    with pytest.raises(InputError, match="a recipe is auto, context, paper, prior, not 'magic'"):
        fit_weights(queries, start(), recipe="magic")


def test_one_query_is_no_evidence() -> None:
    train = random_problem(27, queries=40)
    weights, report = fit_weights(train, start(), validation=random_problem(28, queries=1))
    assert report.choice.name == "uniform"
    np.testing.assert_array_equal(weights.table, 1)


@pytest.mark.parametrize("recipe", NAMES)
def test_the_order_of_ties_is_that_of_the_published_results(recipe: str) -> None:
    """They were made when ties were broken by the names in reports."""
    grid = configurations_of([recipe])
    by_name = sorted(grid, key=lambda one: one.name, reverse=True)
    flat = np.full((4, 2), 0.5)
    while grid:
        assert choose_best(dict.fromkeys(grid, flat), grid).contender == by_name.pop(0)
        grid = sorted(by_name, key=lambda one: one.name)
    everything: list[Contender] = [UNIFORM, IDF, IDF_WITHOUT_SPECIAL, SOFT, BLEND, *configurations_of(NAMES)]
    assert by_lower_bound(dict.fromkeys(everything, flat), everything) == sorted(everything, key=lambda one: one.name)


def test_ties_go_to_weights_without_labels_and_then_to_the_last_settings() -> None:
    several = [PenaltyConfiguration("idf-soft", penalty) for penalty in (30.0, 3.0, 10.0)]
    flat = np.full((4, 2), 0.5)
    measured: dict[Contender, Any] = dict.fromkeys((UNIFORM, IDF, *several), flat)
    assert choose_best(measured, several, [IDF]).contender == IDF
    assert choose_best(measured, several).why.endswith("not compared with uniform weights")
    assert choose_best(measured, several).name == "prior (idf-soft, 30)"
    measured[several[0]] = flat - 0.1
    assert choose_best(measured, several).name == "prior (idf-soft, 3)"
