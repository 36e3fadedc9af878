"""Documents from every source that a user may have."""

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer import InputError
from chamfer.data.corpus import documents_from
from chamfer.data.documents import Document, metadata_json
from chamfer.data.reading import Reading
from tests.conftest import write_lines


def read(folder: Path, *records: dict[str, Any], allow_empty: bool = False) -> list[Document]:
    write_lines(folder / "corpus.jsonl", list(records))
    return list(documents_from(folder / "corpus.jsonl", allow_empty=allow_empty).read())


def test_title_and_text_are_one_text_and_the_rest_is_metadata(tmp_path: Path) -> None:
    [document] = read(
        tmp_path, {"_id": "1", "title": " Cats ", "text": "sleep", "year": 2021, "metadata": {"lang": "de", "n": None}}
    )
    assert (document.id, document.title, document.text, document.content) == ("1", "Cats", "sleep", "Cats sleep")
    assert document.metadata == {"year": 2021, "lang": "de", "n": None}


def test_numbers_become_texts_and_titles(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"_id": 1, "title": 2021, "text": 7.5}, {"_id": 2, "title": 2021.0, "text": "a"}]
    documents = read(tmp_path, *records)
    assert [(one.id, one.title, one.text) for one in documents] == [
        ("1", "2021", "7.5"),
        ("2", "2021", "a"),
    ]
    frame = pd.DataFrame({"id": ["a", "b"], "text": ["x", "y"], "title": [2021, None]})
    assert [document.title for document in documents_from(frame).read()] == ["2021", ""]
    [document] = documents_from([{"id": "a", "text": "x", "title": float("nan")}]).read()
    assert document.title == ""


def test_a_document_without_metadata_has_an_empty_object(tmp_path: Path) -> None:
    documents = read(tmp_path, {"_id": "1", "text": "a"}, {"_id": "2", "text": "b", "metadata": None})
    assert [document.metadata for document in documents] == [{}, {}]


def test_the_metadata_field_wins_over_the_fields_beside_it(tmp_path: Path) -> None:
    [document] = read(tmp_path, {"_id": "1", "text": "a", "year": 1, "metadata": {"year": 2}})
    assert document.metadata == {"year": 2}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(metadata=st.dictionaries(st.text(), values, max_size=4))
def test_metadata_comes_back_as_given(tmp_path_factory: pytest.TempPathFactory, metadata: dict[str, Any]) -> None:
    [document] = read(tmp_path_factory.mktemp("any"), {"_id": "ü", "text": "é", "metadata": metadata})
    assert document.metadata == metadata


def test_a_folder_is_read_like_its_corpus(tmp_path: Path) -> None:
    [document] = read(tmp_path, {"_id": "1", "text": "a"})
    assert list(documents_from(tmp_path).read()) == [document]


def test_documents_without_text_are_kept_only_on_request(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"_id": "1", "text": "a"}, {"_id": "2", "text": " \n", "year": 3}]
    with pytest.raises(
        InputError,
        match=r"line 2: document '2' has no text under 'text' .*'year'.*allow_empty=True .--allow-empty",
    ):
        read(tmp_path, *records)
    assert read(tmp_path, *records, allow_empty=True)[1] == Document("2", "", metadata={"year": 3})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": "a"}, r"line 2: the id is missing; write a string under '_id' \(or 'id'\)"),
        ({"_id": "", "text": "a"}, "line 2: '_id' must not be empty"),
        ({"_id": 7.0, "text": "a"}, "line 2: '_id' must be a string, not float; write it as a string, '7'"),
        ({"_id": 7.5, "text": "a"}, "line 2: '_id' must be a string, not float; write it as a string, '7.5'"),
        ({"id": True, "text": "a"}, "line 2: 'id' must be a string, not bool; write it as a string, 'True'"),
        ({"_id": ["7"], "text": "a"}, "line 2: '_id' must be a string, not list"),
        ({"id": "1", "text": "a"}, "line 2: the id '1' was used before; ids must be unique"),
        ({"_id": "1", "text": "a"}, "line 2: the id '1' was used before; ids must be unique"),
        ({"_id": "2", "text": True}, "'text' of '2' must be a string, not bool"),
        ({"_id": "2", "text": ["a"]}, "'text' of '2' must be a string, not list"),
        ({"_id": "2", "text": "a", "metadata": [1]}, "line 2: 'metadata' must be an object, not list"),
        ({"_id": "2", "text": "a", "metadata": "x"}, "line 2: 'metadata' must be an object, not str"),
    ],
)
def test_lines_that_cannot_be_used_are_named(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, {"_id": "1", "text": "first"}, record)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*none\.jsonl"):
        documents_from(tmp_path / "none.jsonl")


@pytest.mark.parametrize("surrogate", [b"\\ud800", b"\xed\xa0\x80"])
def test_a_lone_surrogate_is_refused_however_it_is_written(tmp_path: Path, surrogate: bytes) -> None:
    (tmp_path / "c.jsonl").write_bytes(
        b'\xef\xbb\xbf{"_id": "1", "text": "a"}\n{"_id": "2", "text": "%s"}\n' % surrogate
    )
    seen: list[Document] = []
    with pytest.raises(InputError, match=r"line 2: not a JSON object \((it is not UTF-8|it holds half a sur.*)\)"):
        documents_from(tmp_path / "c.jsonl", check=seen.append)
    assert [document.id for document in seen] == ["1"], "a byte order mark is no mistake"


class TestSources:
    RECORDS: ClassVar[list[dict[str, Any]]] = [
        {"id": "1", "title": "Cats", "text": "sleep", "year": 2021},
        {"id": "2", "text": "Dogs bark", "year": 2022, "metadata": {"lang": "en"}},
    ]
    EXPECTED: ClassVar[list[Document]] = [
        Document("1", "sleep", "Cats", {"year": 2021}),
        Document("2", "Dogs bark", metadata={"year": 2022, "lang": "en"}),
    ]

    def test_dicts_documents_frames_and_files_give_the_same(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "id.jsonl", self.RECORDS)
        with_underscore = [{"_id": one["id"], **{k: v for k, v in one.items() if k != "id"}} for one in self.RECORDS]
        write_lines(tmp_path / "corpus.jsonl", with_underscore)
        frame = pd.DataFrame(self.RECORDS)
        sources: list[Any] = [
            self.RECORDS,
            with_underscore,
            iter(self.RECORDS),
            self.EXPECTED,
            frame,
            str(tmp_path / "id.jsonl"),
            tmp_path / "corpus.jsonl",
            tmp_path,
        ]
        for source in sources:
            corpus = documents_from(source)
            assert list(corpus.read()) == self.EXPECTED
            assert list(corpus.read(1)) == corpus.take([1]) == self.EXPECTED[1:]
            assert list(corpus.read(2)) == []
            assert len(corpus) == 2
            assert documents_from(corpus) is corpus

    def test_texts_by_id_are_documents(self) -> None:
        assert list(documents_from({"a": "x", "b": " y "}).read()) == [Document("a", "x"), Document("b", " y ")]

    def test_an_id_beside_an_underscored_one_is_metadata(self) -> None:
        [document] = documents_from([{"_id": "1", "id": "other", "text": "x"}]).read()
        assert (document.id, document.metadata) == ("1", {"id": "other"})

    def test_cells_of_a_frame_become_plain_values(self) -> None:
        frame = pd.DataFrame(
            {
                "id": ["a", "b"],
                "text": ["x", "y"],
                "n": np.array([1, 2]),
                "share": [0.5, np.nan],
                "day": [pd.Timestamp("2024-01-02"), pd.NaT],
                "tags": [["t"], None],
            }
        )
        first, second = documents_from(frame).read()
        assert first.metadata == {"n": 1, "share": 0.5, "day": "2024-01-02", "tags": ["t"]}
        assert second.metadata == {"n": 2}
        assert json.loads(metadata_json(first)) == first.metadata

    def test_a_file_is_opened_once_to_be_checked_and_positions_lead_to_lines(self, tmp_path: Path) -> None:
        lines = [b'{"_id": "\xc3\xbc", "text": "a"}', b"", b'{"_id": "2", "text": "b"}', b'{"_id": "3", "text": "c"}']
        (tmp_path / "c.jsonl").write_bytes(b"\r\n".join(lines))
        with patch.object(Path, "open", autospec=True, side_effect=Path.open) as opened:
            corpus = documents_from(tmp_path / "c.jsonl")
            assert opened.call_count == 2, "once to recognise the format"
            assert [document.id for document in corpus.take([2, 0])] == ["3", "ü"]
            assert [document.id for document in corpus.read(1)] == ["2", "3"]
            assert opened.call_count == 4
        assert corpus.digest == hashlib.sha256((tmp_path / "c.jsonl").read_bytes()).hexdigest()[:16]

    def test_a_file_that_changes_after_the_check_is_refused(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "c.jsonl", self.RECORDS)
        corpus = documents_from(tmp_path / "c.jsonl")
        with (tmp_path / "c.jsonl").open("a") as file:
            file.write("\n")
        with pytest.raises(InputError, match="was changed while it was being read"):
            list(corpus.read())
        with pytest.raises(InputError, match="was changed while it was being read"):
            corpus.take([0])

    def test_a_check_sees_every_document(self) -> None:
        seen: list[Document] = []
        documents_from(self.RECORDS, check=seen.append)
        assert seen == self.EXPECTED

    def test_the_digest_tells_corpora_apart(self) -> None:
        digests = [
            documents_from(source).digest
            for source in (
                {"a": "x"},
                {"b": "x"},
                {"a": "y"},
                {"a": "x y"},
                [Document("a", "x", metadata={"n": 1})],
                [Document("a", "y", "x")],
                [Document("a", "", "x y")],
            )
        ]
        assert len(set(digests)) == len(digests)

    @pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.csv"])
    def test_the_digest_tells_chosen_columns_apart(self, tmp_path: Path, name: str) -> None:
        frame = pd.DataFrame([{"id": "1", "title": "a", "summary": "b", "full": "c"}])
        if name == "c.csv":
            frame.to_csv(tmp_path / name, index=False)
        else:
            frame.to_json(tmp_path / name, orient="records", lines=name == "c.jsonl")
        readings = [
            Reading(text_field="summary"),
            Reading(text_field="full"),
            Reading(text_field=["summary", "full"]),
            Reading(text_field="full", title_field="summary"),
            Reading(text_field="full", id_field="row"),
        ]
        digests = {documents_from(tmp_path / name, reading=reading).digest for reading in readings}
        assert len(digests) == len(readings)

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            (7, "documents must be a mapping from ids to texts, .* not int"),
            (["a text"], r"documents\[0\] must be a dict with 'id' and 'text', or a Document, not str; .* a mapping"),
            ({"a": None}, "'text' of document 'a' must be a string, not NoneType"),
            ({7: "a"}, "a document id must be a string, not the integer 7; write it as '7'"),
            ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], r"documents\[1\]: the id 'a' was used before"),
            ([{"id": 1.5, "text": "x"}], r"documents\[0\]: 'id' must be a string, not float"),
            ([{"text": "x"}], r"documents\[0\]: the id is missing; write a string under '_id' \(or 'id'\)"),
            ([{"id": "a", "body": "x"}], r"document 'a' has no text under 'text' \(its other fields: 'body'\)"),
            ([{"id": "a"}], r"documents\[0\]: document 'a' has no text"),
            (pd.DataFrame({"id": ["a", None], "text": ["x", "y"]}), "row 1: the id is missing"),
            (pd.DataFrame([[1, 2]], columns=["text", "text"]), "the DataFrame has 2 columns named 'text'; rename"),
        ],
    )
    def test_what_cannot_be_used_is_named(self, source: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            documents_from(source)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": ""}, "a document id must not be empty"),
        ({"id": 3}, "a document id must be a string, not the integer 3; write it as '3'"),
        ({"text": None}, "'text' of document 'n' must be a string, not NoneType"),
        ({"title": 7}, "'title' of document 'n' must be a string, not int"),
        ({"metadata": '{"a": 1}'}, "'metadata' of document 'n' must be a mapping, not str"),
    ],
)
def test_a_document_is_checked_when_it_is_made(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Document(**{"id": "n", "text": "x", **fields})
