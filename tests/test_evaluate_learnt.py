"""Queries that weights were learnt from are not measured."""

from dataclasses import replace
from pathlib import Path

from chamfer import Collection, Encoder, Ranking, TokenWeights, evaluate
from chamfer.data.queries import words_of
from chamfer.weights.learnt_queries import LEARNT_QUERIES, MOST, with_learnt_queries

PETS = Collection(
    name="pets",
    documents={"cats": "Cats sleep all day.", "dogs": "Dogs bark at night.", "birds": "Birds sing all day."},
    queries={"q1": "why do cats sleep", "q2": "what do birds do"},
    judgements={"test": {"q1": {"cats": 1}, "q2": {"birds": 1}}},
)


def learnt(encoder: Encoder, *queries: str) -> TokenWeights:
    weights = TokenWeights.uniform(encoder.vocabulary)
    return replace(weights, metadata=with_learnt_queries({"recipe": "learnt"}, map(words_of, queries)))


def test_queries_that_weights_were_learnt_from_are_left_out(encoder: Encoder, tmp_path: Path) -> None:
    mine = learnt(encoder, "Why do cats  sleep?", "and others")
    found = evaluate(PETS, {"uniform": "uniform", "mine": mine}, encoder=encoder, cache=tmp_path)
    assert (found.queries, found.left_out, found.as_json()["left_out"]) == (1, 1, 1)
    assert [ranking.query_id for ranking in found["mine"].rankings] == ["q2"]


def test_if_none_would_remain_all_are_measured(encoder: Encoder, tmp_path: Path) -> None:
    everything = learnt(encoder, *PETS.queries.values())
    found = evaluate(PETS, {"uniform": "uniform", "mine": everything}, encoder=encoder, cache=tmp_path)
    assert (found.queries, found.left_out) == (2, 0)


def test_too_many_queries_are_not_recorded() -> None:
    assert LEARNT_QUERIES not in with_learnt_queries({}, (f"query {number}" for number in range(MOST + 1)))
    assert LEARNT_QUERIES not in with_learnt_queries({}, ["", ""]), "words that are not known"


def test_one_query_that_is_left_out_is_called_one_query(encoder: Encoder, tmp_path: Path) -> None:
    found = evaluate(PETS, {"mine": learnt(encoder, "why do cats sleep")}, encoder=encoder, cache=tmp_path)
    assert "1 query is left out, because weights were learnt from it" in found.notes()


def test_candidates_and_runs_of_those_queries_are_left_out_too(encoder: Encoder, tmp_path: Path) -> None:
    mine = learnt(encoder, "why do cats sleep")
    run = [Ranking.of(query, ["birds", "cats"], [2.0, 1.0]) for query in PETS.queries]
    found = evaluate(PETS, {"mine": mine}, encoder=encoder, cache=tmp_path, candidates=run, runs={"theirs": run})
    assert {ranking.query_id for system in found.systems for ranking in system.rankings} == {"q2"}
