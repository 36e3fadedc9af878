"""Queries that share words or documents stay on one side, in folds and when some are held out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer import Encoder, InputError
from chamfer.data.collection import Collection
from chamfer.evaluate.groups import are_apart, group
from chamfer.learn.auto import fit_auto
from chamfer.learn.fit import fit_weights
from chamfer.learn.folds import FitConfigurations, cross_validation, folds_if_possible
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.learning import learn
from chamfer.learn.registry import blended_recipes, configurations_of
from chamfer.learn.splits import divide, split_queries, spread
from tests.problems import start
from tests.test_evaluate_groups import of, tied


def sides(queries: Sequence[JudgedQuery]) -> list[str]:
    return [query.query_id for query in queries]


def test_folds_share_no_relevant_document() -> None:
    queries = tied(*(of(f"q{at}", f"d{at // 3}") for at in range(30)))
    for fold in cross_validation(queries, folds=3):
        assert are_apart(fold.held_out, fold.train).all()
        assert len(fold.held_out) in (9, 12)
    with pytest.raises(InputError, match=r"11 folds need at least 11 judged queries that .* share nothing, not 10"):
        cross_validation(queries, folds=11)
    assert len(folds_if_possible(queries[:9], folds=5)) == 3
    assert folds_if_possible(queries[:1]) == []


def six_with_one_answer() -> list[JudgedQuery]:
    """Half of the queries share an answer: of fewer queries, they would be more than half."""
    return tied(*(of(f"q{at}", "1" if at < 6 else f"d{at}") for at in range(12)))


def test_a_subset_is_grouped_by_what_was_decided_on_all_queries() -> None:
    queries = six_with_one_answer()
    assert group(queries).by == "document"
    assert group(queries[:9]).by == "text"
    decided = group(queries[:9], group(queries).by, decided=True)
    assert (decided.by, decided.groups, decided.why) == ("document", 4, "")
    for fold in folds_if_possible(queries[:9], decided=True):
        assert are_apart(fold.held_out, fold.train).all()


def test_folds_are_divided_as_the_report_says(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[str]] = []
    original = FitConfigurations.__call__

    def spy(job: FitConfigurations, table: Any, advance: Any) -> Any:
        seen.extend({query.query_id for query in train} for train in job.train)
        return original(job, table, advance)

    monkeypatch.setattr(FitConfigurations, "__call__", spy)
    queries = six_with_one_answer()
    together = {query.query_id for query in queries[:6]}
    weights, report = fit_weights(queries, start())
    assert report.measured_on == "3-fold cross-validation, folds share no query text and no relevant document"
    assert len(seen) == 1 + 3, "the blend is measured with the folds it is made with"
    assert all(train & together in (together, set()) for train in seen)
    configurations = configurations_of(blended_recipes(queries))
    groups = group(queries).labels
    without_measuring = fit_auto(queries, start(), configurations, folds_if_possible, groups, measure=False).weights
    np.testing.assert_array_equal(weights.table, without_measuring.table)


def test_the_report_says_how_many_folds_there_were() -> None:
    queries = tied(*(of(f"q{at}", f"d{at // 2}") for at in range(4)))
    _, report = fit_weights(queries, start(), folds=5)
    assert report.measured_on == "2-fold cross-validation, folds share no query text and no relevant document"


@given(st.lists(st.integers(0, 8), min_size=2, max_size=40), st.integers(2, 4), st.integers(0, 5))
def test_no_group_is_ever_divided(labels: list[int], parts: int, seed: int) -> None:
    groups = np.unique(labels, return_inverse=True)[1]
    part_of = spread(groups, parts, seed=seed)
    assert all(len(set(part_of[groups == label])) == 1 for label in groups)
    try:
        rest, held = divide(range(len(groups)), 0.4, seed=seed, groups=groups)
    except InputError:
        return
    assert sorted([*rest, *held]) == list(range(len(groups)))
    assert len(held) <= round(0.4 * len(groups))
    assert not {groups[place] for place in rest} & {groups[place] for place in held}


def test_splits_that_are_drawn_keep_equal_texts_together() -> None:
    queries = tied(*(of(f"q{at // 2}") for at in range(40)))
    for seed in range(5):
        splits = split_queries({"test": queries}, seed=seed, grouped=lambda some: group(some, "text").labels)
        words = [{query.ties.words for query in part} for part in splits]
        assert not words[0] & words[1] | words[0] & words[2] | words[1] & words[2]


@pytest.fixture
def asked_twice() -> Collection:
    """A query that is tested is also among those to learn from, and another one has the same answer."""
    things = ["cat", "dog", "sky", "night", "day", "mat"]
    queries = {f"q{at}": f"why {one}" for at, one in enumerate(things)}
    return Collection(
        name="things",
        documents={f"{one}-{other}": f"the {one} and a {other}" for one in things for other in things},
        queries={**queries, "again": "Why CAT?", "other": "what about the cat", "new": "what about the mat"},
        judgements={
            "train": {f"q{at}": {f"{one}-{one}": 1} for at, one in enumerate(things[:5])},
            "test": {"again": {"cat-cat": 1}, "other": {"dog-dog": 1}, "new": {"mat-mat": 1}},
        },
    )


def test_what_is_tested_on_is_never_learnt_from_in_the_same_words(
    asked_twice: Collection, encoder: Encoder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    learnt = learn(asked_twice, encoder=encoder, cache=tmp_path_factory.mktemp("cache"), test="test", recipe="prior")
    assert sides(learnt.queries) == ["q1", "q2", "q3", "q4"]
    assert learnt.repeated == 1
    assert learnt.held_out is not None
    assert learnt.held_out.queries == 3
    assert learnt.apart is not None
    assert learnt.apart.queries == 2  # "other" has the answer of "q1"
    assert learnt.held_out.kept_apart == "", "a given split is as it is"
    with pytest.raises(InputError, match="no query has a field 'session'; they have: none"):
        learn(asked_twice, encoder=encoder, test="test", group_by="session")


def test_what_holding_out_keeps_apart_is_said(
    asked_twice: Collection, encoder: Encoder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    by_document = learn(asked_twice, encoder=encoder, cache=cache, hold_out=0.4, recipe="prior", folds=2).held_out
    assert by_document is not None
    assert by_document.kept_apart == "share no query text and no relevant document"
    one_answer = {query: {**grades, "mat-mat": 1} for query, grades in asked_twice.judgements["train"].items()}
    connected = replace(asked_twice, judgements={"train": one_answer})
    by_text = learn(connected, encoder=encoder, cache=cache, hold_out=0.4, recipe="prior", folds=2).held_out
    assert by_text is not None
    assert by_text.kept_apart.startswith("share no query text (relevant documents connect 5 of 5 queries")
