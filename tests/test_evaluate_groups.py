"""Queries that share words, documents or a group are one group."""

from dataclasses import replace

import pytest

from chamfer import InputError
from chamfer.evaluate.groups import Ties, are_apart, are_new, group, groups_of
from chamfer.learn.judged import JudgedQuery
from tests.problems import random_problem


def tied(*ties: Ties) -> list[JudgedQuery]:
    return [replace(query, ties=own) for query, own in zip(random_problem(1, queries=len(ties)), ties, strict=True)]


def of(words: str, *relevant: str, session: str | None = None) -> Ties:
    return Ties(words, frozenset(relevant), session)


def test_queries_with_one_answer_or_the_same_words_form_a_group_also_through_others() -> None:
    queries = tied(of("a", "1"), of("b", "1", "2"), of("c", "2"), of("d", "3"), of("d", "4"), of("e"), of("f"), of("g"))
    assert group(queries).labels.tolist() == [0, 0, 0, 1, 1, 2, 3, 4]
    assert group(queries, "text").labels.tolist() == [0, 1, 2, 3, 3, 4, 5, 6]


def test_a_field_groups_queries_and_so_do_their_words() -> None:
    queries = tied(of("a", session="x"), of("b", session="x"), of("b"), of("c", "1"), of("d", "1"), of("e"), of("f"))
    assert group(queries, "session").labels.tolist() == [0, 0, 0, 1, 2, 3, 4]


def test_queries_without_known_words_are_not_taken_for_equal() -> None:
    assert group(random_problem(1, queries=3)).labels.tolist() == [0, 1, 2]


def test_a_group_of_more_than_half_the_queries_is_reported_and_only_words_count() -> None:
    found = group(tied(of("a", "1"), of("b", "1"), of("c", "1"), of("d", "2")))
    assert found.by == "text"
    assert found.labels.tolist() == [0, 1, 2, 3]
    assert found.sentence == (
        "share no query text (relevant documents connect 3 of 4 queries, too many to keep on one side)"
    )


def test_apart_means_that_nothing_is_shared_directly() -> None:
    learnt = tied(of("a", "1"), of("b", "2", session="x"))
    queries = tied(of("a", "9"), of("c", "1"), of("c", "3"), of("d", session="x"), of("e", "3"))
    assert are_apart(queries, learnt).tolist() == [False, False, True, False, True]
    assert are_new(queries, learnt).tolist() == [False, True, True, True, True]


def test_a_field_that_no_query_has_is_an_error_that_names_those_there_are() -> None:
    fields = {"q1": {"session": 7}, "q2": {"session": 8, "year": 2020}}
    assert groups_of(fields, ["q1", "q2", "q3"], "session") == {"q1": "7", "q2": "8"}
    assert groups_of(fields, ["q1"], "document") == {}
    with pytest.raises(InputError, match="no query has a field 'sesion'; they have: session, year"):
        groups_of(fields, ["q1", "q2"], "sesion")
