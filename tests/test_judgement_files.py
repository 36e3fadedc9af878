"""Judgements from the files that people have: formats and columns are recognised, and nothing is lost in silence."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from chamfer import InputError
from chamfer.data.collection import load_collection
from chamfer.data.judged import check_documents, read_judged
from chamfer.data.judgements import judgements_from
from chamfer.data.queries import Queries
from chamfer.errors import InputWarning
from tests.conftest import write_lines

FIRST, SECOND = "how do I pay, and when?", 'what does "open" mean'
ROWS = [(FIRST, "1", 1), (FIRST, "2", 0), (SECOND, "3", 2)]
EXPECTED = {FIRST: {"1": 1, "2": 0}, SECOND: {"3": 2}}


def frame(*names: str) -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=list(names or ("query", "document", "relevance")))


def records() -> list[dict[str, Any]]:
    return [{"query": query, "document": document, "relevance": grade} for query, document, grade in ROWS]


WRITERS: dict[str, Callable[[Path], object]] = {
    "j.csv": lambda path: frame().to_csv(path, index=False),
    "bom.csv": lambda path: frame().to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n"),
    "floats.csv": lambda path: frame().astype({"relevance": float}).to_csv(path, index=False),
    "capitals.csv": lambda path: frame("Query", "DOCUMENT", "Relevance").to_csv(path, index=False),
    "j.tsv": lambda path: frame().to_csv(path, index=False, sep="\t"),
    "j.txt": lambda path: frame().to_csv(path, index=False, sep=";"),
    "j.jsonl": lambda path: write_lines(path, records()),
    "numbers.jsonl": lambda path: write_lines(path, [{**row, "document": int(row["document"])} for row in records()]),
    "lists.jsonl": lambda path: write_lines(path, [{"query": q, "document": grades} for q, grades in EXPECTED.items()]),
    "array.json": lambda path: path.write_text(json.dumps(records(), indent=1)),
    "object.json": lambda path: path.write_text(json.dumps(EXPECTED, indent=1)),
    "j.parquet": lambda path: frame().to_parquet(path),
    "numbers.parquet": lambda path: frame().astype({"document": int}).to_parquet(path),
    "beir.tsv": lambda path: path.write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{query}\t{document}\t{grade}\n" for query, document, grade in ROWS)
    ),
    "no-names.tsv": lambda path: path.write_text("".join(f"{q}\t{document}\t{g}\n" for q, document, g in ROWS)),
    "trec.tsv": lambda path: path.write_text("".join(f"{q}\t0\t{document}\t{g}\n" for q, document, g in ROWS)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_holds_the_same_judgements(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    assert judgements_from(tmp_path / name) == judgements_from(str(tmp_path / name)) == EXPECTED


@pytest.mark.parametrize(
    "source",
    [
        records(),
        iter(records()),
        frame(),
        frame().astype({"document": float, "relevance": float}),
        frame().set_index("query"),
        frame("query_id", "doc_id", "score"),
    ],
    ids=range(6),
)
def test_tables_in_memory_hold_the_same(source: Any) -> None:
    assert judgements_from(source) == EXPECTED


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (
            ("question", "answer id", "label"),
            "queries from 'question', documents from 'answer id', grades from 'label'",
        ),
        (("Query", "Doc", "Grade"), "documents from 'Doc'"),
        (("qid", "docno", "relevance"), "queries from 'qid', documents from 'docno'"),
        (("query", "document", "stars"), "no column of grades, so each of its rows counts as relevant; 'stars' is not"),
    ],
)
def test_what_a_name_may_mean_is_said(names: tuple[str, ...], note: str, tmp_path: Path) -> None:
    frame(*names).to_csv(tmp_path / "j.csv", index=False)
    with pytest.warns(InputWarning, match=note):
        found = judgements_from(tmp_path / "j.csv")
    assert set(found) == set(EXPECTED)
    assert found == EXPECTED or names[-1] == "stars"


def test_a_table_with_ids_and_texts_of_queries_is_read_by_what_is_needed() -> None:
    both = frame().assign(query_id=["a", "a", "b"])
    with pytest.warns(InputWarning, match="queries from 'query', documents from 'document', grades from 'relevance'"):
        assert judgements_from(both) == EXPECTED
    with pytest.warns(InputWarning, match="queries from 'query_id'"):
        assert judgements_from(both, {"a": FIRST, "b": SECOND}) == {"a": EXPECTED[FIRST], "b": EXPECTED[SECOND]}


def test_one_object_is_not_said_to_be_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "j.json"
    for indent in (None, 1):
        path.write_text(json.dumps(records()[0], indent=indent))
        assert judgements_from(path) == {FIRST: {"1": 1}}
    write_lines(path, records())
    with pytest.warns(InputWarning, match="contains JSON lines; reading it as such"):
        assert judgements_from(path) == EXPECTED


def test_semicolons_are_noticed_and_said(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "j.csv", index=False, sep=";")
    with pytest.warns(InputWarning, match="uses semicolons as its delimiter"):
        assert judgements_from(tmp_path / "j.csv") == EXPECTED


CLICKS: list[dict[str, Any]] = [
    {"query": FIRST, "clicked": "1", "shown": ["1", "2"]},
    {"query": FIRST, "clicked": [], "shown": ["2", "4"]},
    {"query": FIRST, "clicked": ["4"]},
    {"query": SECOND, "clicked": [3, 7], "shown": [3]},
]
CLICKED = {FIRST: {"1": 1, "2": 0, "4": 1}, SECOND: {"3": 1, "7": 1}}


class TestClicks:
    def test_what_was_clicked_in_any_line_is_relevant(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "clicks.jsonl", CLICKS)
        (tmp_path / "clicks.json").write_text(json.dumps(CLICKS))
        table = pd.DataFrame(CLICKS)
        for source in (tmp_path / "clicks.jsonl", tmp_path / "clicks.json", CLICKS, table):
            assert judgements_from(source) == CLICKED

    def test_one_line_is_enough(self, tmp_path: Path) -> None:
        (tmp_path / "clicks.log").write_text('{"query": "pay", "clicked": "1", "id": 17}\n')
        assert judgements_from(tmp_path / "clicks.log") == {"pay": {"1": 1}}

    def test_a_row_for_each_document_that_was_shown(self, tmp_path: Path) -> None:
        (tmp_path / "c.csv").write_text("query,document,clicked\npay,1,0\npay,2,True\npay,1,1\n")
        assert judgements_from(tmp_path / "c.csv") == {"pay": {"1": 1, "2": 1}}

    @pytest.mark.parametrize("flags", [(0, 1), (False, True), ("0", "1"), ("false", "TRUE"), (0.0, 1.0)])
    def test_beside_a_column_of_documents_clicks_are_flags(self, flags: tuple[Any, Any]) -> None:
        no, yes = flags
        rows = [
            {"query": "pay", "document": "17", "shown": yes, "clicked": no},
            {"query": "pay", "document": "3", "shown": yes, "clicked": yes},
        ]
        assert judgements_from(rows) == {"pay": {"17": 0, "3": 1}}
        assert judgements_from(pd.DataFrame(rows)) == {"pay": {"17": 0, "3": 1}}

    @pytest.mark.parametrize("name", ["Page", "URL", "landing page", "answer id"])
    def test_a_page_is_a_document_too(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "c.csv").write_text(f"Query,{name},Clicks,Impressions\npay,/a,1,7\npay,/b,0,3\n")
        with pytest.warns(InputWarning, match=f"^columns of .*: queries from 'Query', documents from '{name}', clicks"):
            assert judgements_from(tmp_path / "c.csv") == {"pay": {"/a": 1, "/b": 0}}

    def test_an_export_of_a_search_console_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "c.csv").write_text("Query,Page,Clicks,Impressions\npay,/a,37,90\n")
        with (
            pytest.warns(InputWarning, match="clicks from 'Clicks'"),
            pytest.raises(InputError, match="line 2: 'Clicks' must be 0 or 1 beside the document in 'Page', not '37'"),
        ):
            judgements_from(tmp_path / "c.csv")

    def test_the_id_of_a_click_is_not_its_document(self) -> None:
        assert judgements_from([{"id": 17, "row": 2, "query": "pay", "clicked": ["1"]}]) == {"pay": {"1": 1}}


BAD: list[tuple[str, str | bytes, str]] = [
    ("colons.csv", "query:document:relevance\npay:1:1\n", "does not name columns .*: query,document,relevance"),
    ("headerless.csv", "how do I pay,1,1\n", "the first row of .* reads 'how do I pay', '1' and '1'; name the columns"),
    ("missing.csv", "query,relevance\npay,1\n", "does not name columns of queries and documents"),
    ("ragged.csv", "query,document,relevance\nhow, when,1,1\n", "line 2: the row has 4 fields, but the header has 3"),
    ("text.csv", "query,document,relevance\npay,1,high\n", "line 2: a grade must be a whole number, not 'high'"),
    ("nan.csv", "query,document,relevance\npay,1,NaN\n", "line 2: a grade must be a whole number, not 'NaN'"),
    ("half.csv", "query,document,relevance\npay,1,0.5\n", "line 2: a grade must be a whole number, not '0.5'"),
    ("gap.csv", "query,document,relevance\npay,1,1\npay,2,\n", "line 3: the grade is missing under 'relevance'"),
    ("nobody.csv", "query,document\n,1\n", "line 2: the query is missing under 'query'"),
    ("empty.csv", "", "holds no judgements"),
    ("names.csv", "query,document,relevance\n", "holds no judgements"),
    ("utf16.csv", "query,document\npay,1\n".encode("utf-16"), "is UTF-16; convert it with: iconv"),
    ("latin.csv", "query,document\nwo ist das Café,1\n".encode("latin-1"), "line 2 is not UTF-8"),
    ("packed.csv", gzip.compress(b"query,document\n"), "is compressed with gzip; unpack it with gunzip"),
    ("printed.pdf", b"%PDF-1.4", "is PDF, but judgements are a table; save them as CSV"),
    ("twice.csv", "query,document,relevance\npay,1,1\npay,1,0\n", "line 3: document '1' already has another grade"),
    ("names2.csv", "query,document,document\npay,1,1\n", "2 columns named 'document'|could each hold the documents"),
    ("unclear.csv", "query,doc_id,answer_id\npay,1,1\n", "'doc_id' and 'answer_id' could each hold the documents"),
    ("open.csv", 'query,document\n"pay,1\n', "line 2: a quote is opened and never closed"),
    ("broken.jsonl", '{"query": "pay"\n', "line 1: not a JSON object"),
    (
        "silent.jsonl",
        '{"query": "pay", "clicked": []}\n',
        "line 1: it says neither what was clicked nor what was shown",
    ),
    ("listed.csv", "query,clicked\npay,\"['1', '2']\"\n", "line 2: 'clicked' holds a list that is written as a text"),
    (
        "seven.csv",
        "query,document,clicked\npay,1,7\n",
        "line 2: 'clicked' must be 0 or 1 beside the document in 'document', not '7'; rename 'document' if",
    ),
    ("yes.csv", "query,document,clicked\npay,1,yes\n", "'clicked' must be 0 or 1 beside .*, not 'yes'"),
    ("unsaid.csv", "query,document,clicked\npay,1,\n", "line 2: the click is missing under 'clicked'"),
    ("half.jsonl", '{"query": "pay", "document": "1", "clicked": 0.5}\n', "'clicked' must be 0 or 1 .*, not 0.5"),
    (
        "console.csv",
        "Query,Clicks,Impressions\npay,1,7\n",
        "'Clicks' and 'Impressions' are counts, not ids of documents; write .* query,document,clicked, where clicked",
    ),
    ("seen.csv", "query,clicked,impressions\npay,3,7\n", "'impressions' is a count, not ids of documents"),
    (
        "flags.csv",
        "query,sku,shown,clicked\npay,a17,1,0\npay,b3,1,1\n",
        "has only 0 and 1 under 'clicked' and 'shown', but no column that names documents; write a row",
    ),
    ("true.csv", "query,sku,clicked\npay,a17,true\npay,b3,false\n", "has only 0 and 1 under 'clicked', but no column"),
    (
        "true.jsonl",
        '{"query": "pay", "sku": "a17", "clicked": true}\n',
        "line 1: 'clicked' is True, but there is no column that names documents; write a row",
    ),
    ("number.json", "7", "holds neither an array nor an object; write an array of objects"),
    ("words.txt", "pay 1\n", "line 1: expected query-id, corpus-id and a whole number"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD, ids=[name for name, _, _ in BAD])
def test_a_file_that_cannot_be_used_is_told_in_one_sentence(
    name: str, content: str | bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message) as told:
        read_judged(None, path)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)
    assert not str(told.value).endswith(".")


class TestQueriesOfJudgements:
    def test_texts_are_the_queries(self, tmp_path: Path) -> None:
        frame().to_csv(tmp_path / "j.csv", index=False)
        judged = read_judged(None, tmp_path / "j.csv")
        assert (judged.queries, judged.judgements) == ({FIRST: FIRST, SECOND: SECOND}, EXPECTED)

    def test_ids_of_a_collection_come_first(self) -> None:
        known = Queries({"a": "how do I pay", "b": "what is open"}, {})
        assert read_judged(None, {"a": ["1"]}, known).queries == known.texts
        with pytest.warns(InputWarning, match="holds texts of queries"):
            assert read_judged(None, frame(), known).queries == {FIRST: FIRST, SECOND: SECOND}
        with pytest.raises(InputError, match="query 'c' is not among the queries"):
            read_judged(None, {"a": ["1"], "c": ["1"]}, known)

    @pytest.mark.parametrize(
        ("ids", "column"), [(["a", "a", "b"], "query_id"), (["a", "a", "c"], "query"), (["7", "7", "8"], "query")]
    )
    def test_notes_are_given_once(self, ids: list[str], column: str, tmp_path: Path) -> None:
        frame().assign(query_id=ids).to_csv(tmp_path / "j.csv", index=False, sep=";")
        known = Queries({"a": "how do I pay", "b": "what is open"}, {})
        with pytest.warns(InputWarning) as told:
            judged = read_judged(None, tmp_path / "j.csv", known)
        assert {*judged.queries} == ({"a", "b"} if column == "query_id" else {FIRST, SECOND})
        said = [str(one.message) for one in told]
        assert [f"queries from {column!r}" in one for one in said if "columns of" in one] == [True]
        assert sum("semicolons" in one for one in said) == 1

    def test_a_mistake_is_read_once(self) -> None:
        known = Queries({"a": "how do I pay"}, {})
        with (
            pytest.warns(InputWarning, match="documents from 'answer'") as told,
            pytest.raises(InputError, match="a grade must be a whole number, not 'high'"),
        ):
            read_judged(None, [{"query": "a", "answer": "1", "relevance": "high"}], known)
        assert len(told) == 1

    def test_ids_without_queries_are_suspicious(self) -> None:
        with pytest.warns(InputWarning, match="queries such as 'q1' .* look like ids"):
            read_judged(None, pd.DataFrame({"query_id": ["q1"], "doc_id": ["1"]}))

    def test_a_corpus_of_any_format_is_judged_by_texts(self, tmp_path: Path) -> None:
        (tmp_path / "faq.csv").write_text("question,answer\nHow?,So.\nWhen?,Now.\nWhere?,Here.\n")
        frame().to_csv(tmp_path / "j.csv", index=False)
        with pytest.warns(InputWarning):
            collection = load_collection(tmp_path / "faq.csv", qrels=[tmp_path / "j.csv"])
        assert collection.judgements == {str(tmp_path / "j.csv"): EXPECTED}
        assert list(collection.documents) == ["1", "2", "3"]
        assert set(collection.queries) == set(EXPECTED)

    def test_judged_documents_must_be_known(self) -> None:
        check_documents(EXPECTED, {"1", "2", "3"}, "1", "faq")
        with pytest.warns(InputWarning, match="1 of 3 judged documents are not in faq, such as '3'"):
            check_documents(EXPECTED, {"1", "2"}, "1", "faq")
        with pytest.raises(
            InputError, match=r"none of the 3 judged .* such as '1', documents have ids such as 'faq-1'"
        ):
            check_documents(EXPECTED, {"faq-1"}, "faq-1", "faq")
