"""Documents as a user writes them down."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer import InputError
from chamfer.data.documents import Document, read_documents
from tests.conftest import write_lines


def read(folder: Path, *records: dict[str, Any], allow_empty: bool = False) -> list[Document]:
    write_lines(folder / "corpus.jsonl", list(records))
    return list(read_documents(folder / "corpus.jsonl", allow_empty=allow_empty))


def test_title_and_text_are_one_text_and_the_rest_is_metadata(tmp_path: Path) -> None:
    [document] = read(
        tmp_path, {"_id": "1", "title": " Cats ", "text": "sleep", "year": 2021, "metadata": {"lang": "de", "n": None}}
    )
    assert (document.id, document.title, document.text, document.content) == ("1", "Cats", "sleep", "Cats sleep")
    assert document.metadata == {"year": 2021, "lang": "de", "n": None}


def test_a_document_without_metadata_has_an_empty_object(tmp_path: Path) -> None:
    documents = read(tmp_path, {"_id": "1", "text": "a"}, {"_id": "2", "text": "b", "metadata": None})
    assert [document.metadata for document in documents] == [{}, {}]


def test_what_is_called_metadata_wins_over_what_lies_beside_it(tmp_path: Path) -> None:
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
    assert list(read_documents(tmp_path)) == [document]


def test_documents_without_text_are_kept_only_on_request(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"_id": "1", "text": "a"}, {"_id": "2", "text": " \n", "year": 3}]
    with pytest.raises(InputError, match=r"line 2: document '2' has no text; .* allow_empty=True \(--allow-empty"):
        read(tmp_path, *records)
    assert read(tmp_path, *records, allow_empty=True)[1] == Document("2", "", metadata={"year": 3})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": "a"}, r"line 2: the id is missing; write a string under '_id' \(or 'id'\)"),
        ({"_id": "", "text": "a"}, "line 2: '_id' must not be empty"),
        ({"_id": 7, "text": "a"}, "line 2: '_id' must be a string, not the integer 7; write it as a string, '7'"),
        ({"id": 7, "text": "a"}, "line 2: 'id' must be a string, not the integer 7; write it as a string, '7'"),
        ({"_id": ["7"], "text": "a"}, "line 2: '_id' must be a string, not list"),
        ({"id": "1", "text": "a"}, "line 2: the id '1' was used before; ids must be unique"),
        ({"_id": "1", "text": "a"}, "line 2: the id '1' was used before; ids must be unique"),
        ({"_id": "2", "text": ["a"]}, "'text' of '2' must be a string, not list"),
        ({"_id": "2", "text": "a", "metadata": [1]}, "line 2: 'metadata' must be an object, not list"),
        ({"_id": "2", "text": "a", "metadata": "x"}, "line 2: 'metadata' must be an object, not str"),
    ],
)
def test_lines_that_cannot_be_used_are_named(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, {"_id": "1", "text": "first"}, record)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*corpus\.jsonl"):
        list(read_documents(tmp_path))


def test_a_line_is_read_only_when_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"_id": "1", "text": "a"}\nbroken\n')
    documents = read_documents(tmp_path / "c.jsonl")
    assert next(documents).id == "1"
    with pytest.raises(InputError, match="line 2: not a JSON object"):
        next(documents)
