"""JSON and JSON lines: one object is one record, and no value of an object is lost."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from chamfer import InputError
from chamfer.data.corpus import documents_from
from chamfer.data.documents import Document
from chamfer.data.reading import Reading
from chamfer.errors import InputWarning


def read(path: Path, content: str, **how: Any) -> list[Document]:
    path.write_text(content)
    return list(documents_from(path, reading=Reading(**how)).read())


@pytest.mark.filterwarnings("ignore:.*rows are numbered", "ignore:.*texts are read from", "ignore:.*ids are read from")
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ["c.json", "c"])
@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"id": "7", "title": "Cats", "text": "sleep"}, Document("7", "sleep", "Cats")),
        ({"id": 7, "text": "sleep", "tags": ["a"]}, Document("7", "sleep", metadata={"tags": ["a"]})),
        ({"title": "Cats", "body": "sleep"}, Document("1", "sleep", "Cats")),
        ({"doc_id": "7", "Body": "sleep", "by": {"name": "Ann"}}, Document("7", "sleep", "", {"by": {"name": "Ann"}})),
    ],
)
def test_an_object_with_an_id_or_a_text_is_one_document(
    tmp_path: Path, record: dict[str, Any], expected: Document, indent: int | None, name: str
) -> None:
    assert read(tmp_path / name, json.dumps(record, indent=indent)) == [expected]


def test_an_object_with_a_field_that_is_named_is_one_document(tmp_path: Path) -> None:
    record = '{"code": "A", "story": "hoots",\n"name": "Owl"}'
    [document] = read(tmp_path / "c.json", record, id_field="code", text_field="story", title_field="name")
    assert document == Document("A", "hoots", "Owl")


def test_another_object_holds_texts_by_id_which_is_said(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match="each of its fields is read as a document, whose id is the field's name"):
        documents = read(tmp_path / "c.json", '{"cats": "sleep",\n"dogs": "bark"}')
    assert documents == [Document("cats", "sleep"), Document("dogs", "bark")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_id = read(tmp_path / "c.json", '{"text": {"text": "sleep"}, "dogs": {"text": "bark", "id": "dogs"}}')
    assert by_id == [Document("text", "sleep"), Document("dogs", "bark")]


@pytest.mark.parametrize(
    ("name", "where"), [("c.json", r"c\.json: an object"), ("c.jsonl", r"c\.jsonl, line 2: an object"), ("i.json", "")]
)
def test_a_repeated_name_is_refused(tmp_path: Path, name: str, where: str) -> None:
    content = '{"id": "1", "text": "a"}\n{"id": "2", "text": "cats", "by": {"n": 1, "n": 2}}\n'
    if name == "c.json":
        content = "[" + content.replace("\n", ",", 1) + "]"
    if name == "i.json":
        content = '{"cats": {"text": "a"}, "cats": {"text": "b"}}'
    with pytest.raises(InputError, match=f"{where}.* has '(n|cats)' twice; remove one of the two"):
        read(tmp_path / name, content)


def test_json_lines_in_a_file_of_json_are_said(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match=r"c\.json contains JSON lines; reading it as such"):
        assert len(read(tmp_path / "c.json", '{"id": "1", "text": "a"}\n{"id": "2", "text": "b"}\n')) == 2
