"""Configurations, folds, blends and the choice between them."""

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from chamfer import InputError, TokenWeights
from chamfer.learn.auto import fit_auto
from chamfer.learn.blend import blend
from chamfer.learn.fit import fit_weights
from chamfer.learn.folds import FitConfigurations, cross_validation, fit_folds, folds_if_possible, measure_folds
from chamfer.learn.quality import quality
from chamfer.learn.recipe import Contender
from chamfer.learn.recipe_names import NAMES
from chamfer.learn.recipes.prior import fit_prior
from chamfer.learn.registry import configurations_of
from chamfer.learn.selection import BLEND, FALLBACK, choose_best, shares_of, standardised_gain
from chamfer.learn.solver import PenaltyConfiguration
from chamfer.learn.start import IDF, MIX, UNIFORM, UNIFORM_MIX
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
    shares = [0.5, 0.3, 0.2]
    logs = [share * np.log(one.of_tokens(ids, vectors)) for share, one in zip(shares, several, strict=True)]
    blended = blend(several, shares)
    np.testing.assert_allclose(blended.of_tokens(ids, vectors), np.exp(np.sum(logs, axis=0)), rtol=1e-4)
    assert blend([several[0]], [1.0]).context is None
    assert [(member["share"], member["penalty"]) for member in blended.metadata["members"]] == [
        (0.5, 1),
        (0.3, 3),
        (0.2, 10),
    ]
    silent = TokenWeights(np.zeros(12, np.float32), uniform().vocabulary)
    with pytest.raises(InputError, match="only weights above 0 can be blended"):
        blend([several[0], silent], [0.5, 0.5])
    with pytest.raises(InputError, match="a prior must be above 0"):
        fit_prior(queries, silent)


def test_shares_follow_the_evidence() -> None:
    generator = np.random.default_rng(16)
    mix = generator.uniform(0, 0.8, (50, 2))
    better, worse = mix + generator.normal(0.1, 0.1, (50, 2)), mix - generator.normal(0.1, 0.1, (50, 2))
    measured: dict[Contender, Any] = {MIX: mix, UNIFORM: mix, IDF: better, BLEND: worse}
    apart = np.arange(50)
    shares = shares_of(measured, [UNIFORM, IDF, BLEND], apart)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares[IDF] > 0.9
    assert shares[BLEND] < shares[UNIFORM] / 50
    assert shares[UNIFORM] == pytest.approx(shares[MIX] / 3)  # equal to the fallback: no evidence
    none = np.zeros((0, 2))
    assert shares_of(dict.fromkeys(measured, none), [UNIFORM, IDF], apart[:0])[MIX] == pytest.approx(0.5)


def test_three_queries_are_little_evidence_however_alike_their_gains() -> None:
    flat = np.full((3, 2), 0.5)
    apart = np.arange(3)
    assert standardised_gain(flat + 0.25, flat, apart) == pytest.approx(np.sqrt(3))
    assert standardised_gain(flat, flat, apart) == 0


def test_queries_of_one_group_are_one_piece_of_evidence() -> None:
    generator = np.random.default_rng(17)
    before = generator.uniform(0, 0.5, (20, 2))
    after = before + generator.normal(0.1, 0.1, (20, 2))
    once = standardised_gain(after, before, np.arange(20))
    after, before = (np.concatenate([one] * 4) for one in (after, before))
    assert standardised_gain(after, before, np.tile(np.arange(20), 4)) == pytest.approx(once)
    assert standardised_gain(after, before, np.arange(80)) == pytest.approx(2 * once)


@pytest.mark.parametrize("recipe", ["auto", "paper", "prior", "context", "mix"])
def test_fit_weights_reports_every_configuration_and_its_choice(recipe: Any) -> None:
    train, validation = random_problem(19, queries=60), random_problem(20, queries=30)
    for held_out in ((), validation):
        weights, report = fit_weights(train, start(), recipe=recipe, validation=held_out)
        names = [row.name for row in report.rows]
        assert report.choice.name in names
        without_labels = ["zero-shot mix", "uniform + evidence"]
        if recipe != "auto":
            without_labels = ["uniform", "idf", "idf (special 0)", "idf-soft", "zero-shot mix"]
        assert [name for name in names if name in {*without_labels, "uniform"}] == without_labels
        assert report.queries == 60 + len(held_out)
        assert all(row.ndcg_interval[0] <= row.ndcg <= row.ndcg_interval[1] for row in report.rows)
        assert all(row.wins + row.ties + row.losses == (30 if held_out else 60) for row in report.rows)
        assert np.isfinite(weights.table).all()
        json.dumps(report.as_json())
    if recipe != "paper":
        assert quality(validation, weights).mean() > quality(validation, uniform()).mean()


def test_labels_that_say_nothing_move_weights_little_and_those_that_do_move_them_far() -> None:
    moved, learnt = [], []
    for seed in range(6):
        queries = random_problem(seed, queries=60)
        new = random_problem(seed + 100, queries=200)
        weights, _ = fit_weights(queries, start())
        learnt.append(quality(new, weights).mean() - quality(new, uniform()).mean())
        generator = np.random.default_rng(seed)
        for query in queries:
            query.grades[:] = generator.permutation(query.grades)
        weights, _ = fit_weights(queries, start())
        moved.append(quality(new, weights).mean() - quality(new, uniform()).mean())
    assert min(learnt) > 0.1
    assert abs(np.mean(moved)) < 0.2 * np.mean(learnt)
    with pytest.raises(InputError, match="a recipe is auto, adapter, context, mix, paper, prior, not 'magic'"):
        fit_weights(queries, start(), recipe="magic")


def test_the_blend_of_a_fold_is_made_without_its_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """It blends what was fitted to the other folds, each by its gains on the other folds."""
    seen: list[set[str]] = []
    original = FitConfigurations.__call__

    def spy(job: FitConfigurations, table: Any, advance: Any) -> Any:
        seen.extend({query.query_id for query in train} for train in job.train)
        return original(job, table, advance)

    monkeypatch.setattr(FitConfigurations, "__call__", spy)
    queries = random_problem(5, queries=18)
    into_folds = partial(folds_if_possible, folds=3)
    configurations = configurations_of(["mix"])
    apart = np.arange(len(queries))
    found = fit_auto(queries, start(), configurations, into_folds, apart)
    folds = into_folds(queries)
    assert seen == [{query.query_id for query in part} for part in (queries, *(fold.train for fold in folds))]
    fitted = fit_folds(folds, start(), configurations)
    for at, fold in enumerate(folds):
        members = {MIX: start().mix, UNIFORM_MIX: start().uniform_mix, **{one: fitted[one][at] for one in fitted}}
        elsewhere = {one: np.delete(found.measured[one], fold.places, axis=0) for one in members}
        groups = np.delete(apart, fold.places)
        shares = shares_of(elsewhere, [one for one in members if one != FALLBACK], groups)
        blended = blend(list(members.values()), [shares[one] for one in members])
        np.testing.assert_array_equal(found.measured[BLEND][fold.places], quality(fold.held_out, blended))


def test_one_query_is_learnt_from_but_proves_nothing() -> None:
    _, report = fit_weights(random_problem(27, queries=1), start())
    assert report.rows == ()
    assert report.measured_on == "too few to hold any out"
    assert report.shares["zero-shot mix"] == pytest.approx(0.5)


@pytest.mark.parametrize("recipe", NAMES)
def test_the_order_of_ties_is_that_of_the_published_results(recipe: str) -> None:
    """They were made when ties were broken by the names in reports."""
    grid = configurations_of([recipe])
    by_name = sorted(grid, key=lambda one: one.name, reverse=True)
    flat = np.full((4, 2), 0.5)
    while grid:
        assert choose_best(dict.fromkeys(grid, flat), grid).contender == by_name.pop(0)
        grid = sorted(by_name, key=lambda one: one.name)


def test_ties_go_to_weights_without_labels_and_then_to_the_last_settings() -> None:
    several = [PenaltyConfiguration("idf-soft", penalty) for penalty in (30.0, 3.0, 10.0)]
    flat = np.full((4, 2), 0.5)
    measured: dict[Contender, Any] = dict.fromkeys((UNIFORM, IDF, *several), flat)
    assert choose_best(measured, several, [IDF]).contender == IDF
    assert choose_best(measured, several).why.endswith("not compared with the zero-shot mix")
    assert choose_best(measured, several).name == "prior (idf-soft, 30)"
    measured[several[0]] = flat - 0.1
    assert choose_best(measured, several).name == "prior (idf-soft, 3)"
