"""Judgements and queries from every source that a user may have."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from chamfer import InputError
from chamfer.data.judgements import judgements_from
from chamfer.data.queries import queries_from
from tests.conftest import write_lines

EXPECTED = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}


class TestJudgements:
    def test_every_form_gives_the_same(self, tmp_path: Path) -> None:
        (tmp_path / "beir.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\nq2\ta\t2\n")
        (tmp_path / "trec.txt").write_text("q1 0 a 1\nq1 0 b 0\n\nq2 0 a 2\n")
        columns = {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "relevance": [1, 0, 2]}
        renamed = {"query_id": "query", "doc_id": "corpus_id", "relevance": "grade"}
        sources: list[Any] = [
            EXPECTED,
            str(tmp_path / "beir.tsv"),
            tmp_path / "trec.txt",
            pd.DataFrame(columns),
            pd.DataFrame(columns).rename(columns=renamed).astype({"grade": float}),
        ]
        for source in sources:
            assert judgements_from(source) == EXPECTED

    def test_a_list_of_relevant_ids_has_grade_one(self) -> None:
        assert judgements_from({"q": ["a", "b"]}) == {"q": {"a": 1, "b": 1}}
        frame = pd.DataFrame({"query": ["q", "q"], "document": ["a", "b"]})
        assert judgements_from(frame) == {"q": {"a": 1, "b": 1}}

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ({"q": "abc"}, r"judgements\['q'\] must be a list of relevant ids, or grades by id, not str"),
            ({"q": 1}, "must be a list of relevant ids, or grades by id, not int"),
            ({"q": {"a": 0.5}}, "a grade must be a whole number, not 0.5"),
            ({"q": {"a": None}}, "a grade must be a whole number, not None"),
            ({"q": [7.5]}, "an id must be a non-empty string, not 7.5"),
            ({"q": [True]}, "an id must be a non-empty string, not True"),
            ({"other": ["a"]}, r"judgements\['other'\]: query 'other' is not among the queries"),
            (7, "judgements must be a mapping .*, a DataFrame or a path, not int"),
            ([("q", "a")], r"judgements\[0\] must be a dict, not tuple; give a list of dicts"),
            (pd.DataFrame({"q": ["q"]}), "the DataFrame has no column of queries .*; its columns are 'q'"),
            (
                pd.DataFrame({"query": ["q", "q"], "document": ["a", "a"], "score": [1, 2]}),
                "row 1: document 'a' already has another grade for query 'q'",
            ),
        ],
    )
    def test_what_cannot_be_used_is_named(self, source: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            judgements_from(source, {"q": "a query"})


class TestQueries:
    def test_every_form_gives_the_same(self, tmp_path: Path) -> None:
        expected = {"q1": "do cats sleep", "q2": "do dogs bark"}
        write_lines(tmp_path / "q.jsonl", [{"_id": key, "text": text} for key, text in expected.items()])
        write_lines(tmp_path / "id.jsonl", [{"id": key, "text": text} for key, text in expected.items()])
        ids, texts = list(expected), list(expected.values())
        sources: list[Any] = [
            expected,
            str(tmp_path / "q.jsonl"),
            tmp_path / "id.jsonl",
            pd.DataFrame({"id": ids, "text": texts}),
            pd.DataFrame({"query_id": ids, "query": texts}),
        ]
        for source in sources:
            assert queries_from(source) == (expected, {})

    def test_ids_that_are_integers_become_strings(self) -> None:
        sources: list[Any] = [{7: "do cats sleep"}, pd.DataFrame({"id": [7], "text": ["do cats sleep"]})]
        for source in sources:
            assert queries_from(source).texts == {"7": "do cats sleep"}

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ({}, "holds no queries"),
            ({"q": " "}, r"queries\['q'\]: query 'q' has no text"),
            ({"q": True}, "'text' of 'q' must be a string, not bool"),
            ({7.5: "text"}, "'_id' must be a string, not float; write it as a string, '7.5'"),
            (pd.DataFrame({"id": [True], "text": ["a"]}), "row 0: 'id' must be a string, not bool"),
            (["a"], "queries must be a mapping from ids to texts, a DataFrame or a path, not list"),
        ],
    )
    def test_what_cannot_be_used_is_named(self, source: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            queries_from(source)
