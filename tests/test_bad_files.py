"""Files that cannot be used: one clear sentence for each, and an index beside them stays as it is."""

import csv
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chamfer import Encoder, InputError, build_index
from chamfer.cli.app import main
from chamfer.data.corpus import documents_from
from chamfer.data.documents import Document
from chamfer.data.readers import delimited
from chamfer.data.reading import FORMATS, Reading
from chamfer.index.texts import check_storable
from tests.bad_files import FILES, GOOD, LINE, READABLE, parquet
from tests.conftest import DOCUMENTS
from tests.test_document_files import put


@pytest.fixture(scope="module")
def index(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, to which no bad file is added."""
    folder = tmp_path_factory.mktemp("index")
    build_index(folder, DOCUMENTS, encoder)
    return folder


Refused = Callable[..., str]


@pytest.fixture
def refused(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Refused]:
    """Give a source to ``chamfer index add`` and ``chamfer index build``, and return what they say.

    They must say one sentence that names the source, end with exit code 2, and leave everything as it was.
    """
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def call(source: Path, *options: str) -> str:
        there = contents(tmp_path)
        before = contents(index)
        sentences = set()
        for arguments in (("add", str(index), str(source)), ("build", str(source), "--out", str(tmp_path / "new"))):
            monkeypatch.setattr(sys, "argv", ["chamfer", "index", *arguments, *options])
            with pytest.raises(SystemExit) as left:
                main()
            output, error = capsys.readouterr()
            *notes, last = error.splitlines()
            assert (left.value.code, output) == (2, "")
            assert all(note.startswith("note: ") for note in notes), error
            assert last.startswith("error: "), error
            sentences.add(last)
        assert contents(index) == before, "the index is changed"
        assert contents(tmp_path) == there, "files are left behind"
        [sentence] = sentences
        assert str(source) in sentence, "it names the file"
        return sentence

    yield call
    assert not any(temporary.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", FILES)
def test_a_bad_file_gets_one_sentence_and_changes_nothing(tmp_path: Path, refused: Refused, kind: str) -> None:
    name, content, sentence = FILES[kind]
    path = put(tmp_path / name, content)
    source = path.parent if path.parent.name in ("d", "c.csv") else path
    with pytest.raises(InputError, match=sentence) as raised:
        documents_from(source, check=check_storable)
    assert str(source) in str(raised.value), "it names the file"
    assert re.search(sentence, refused(source))


@pytest.mark.filterwarnings("ignore::chamfer.errors.InputWarning")
@pytest.mark.parametrize("kind", READABLE)
def test_an_odd_file_is_read_and_what_was_assumed_is_said(tmp_path: Path, kind: str) -> None:
    name, content, metadata, note = READABLE[kind]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        [document] = documents_from(put(tmp_path / name, content), check=check_storable).read()
    assert document == Document("1", "a", metadata=metadata)
    assert len(told) == (note is not None)
    assert all(str(note) in str(one.message) for one in told)


def test_a_delimiter_that_does_not_fit_is_refused(tmp_path: Path, refused: Refused) -> None:
    sentence = refused(put(tmp_path / "c.csv", GOOD), "--delimiter", ";")
    assert "has a single column, 'id,text'; name what separates its columns with --delimiter" in sentence


@pytest.mark.parametrize("name", ["c.csv", "c.json", "c.jsonl", "c.parquet"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    written: dict[str, str | bytes] = {
        "c.csv": GOOD,
        "c.json": f"[{LINE}]",
        "c.jsonl": LINE,
        "c.parquet": parquet(id=["1"], text=["a"]),
    }
    path = put(tmp_path / name, written[name])

    def change(_document: Document) -> None:
        now = path.stat().st_mtime_ns
        os.utime(path, ns=(now, now + 1))

    with pytest.raises(InputError, match=rf"{name} was changed while it was being read; try again"):
        documents_from(path, check=change)
    monkeypatch.setattr("chamfer.index.index.check_storable", change)
    monkeypatch.setattr("chamfer.index.texts.check_storable", change)
    assert "was changed while it was being read; try again" in refused(path)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated, because root may read anything."""
    opened = Path.open

    def refuse(path: Path, *arguments: Any, **named: Any) -> Any:
        if path in paths:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **named)

    paths = [put(tmp_path / "c.csv", GOOD), put(tmp_path / "d/a.txt", "x")]
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"c\.csv cannot be read \(Permission denied\); correct its permissions"):
        documents_from(paths[0])
    with pytest.raises(InputError, match=r"a\.txt cannot be read \(Permission denied\); remove it, or correct its per"):
        documents_from(paths[1].parent)


def test_folders_and_links(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "a.md").symlink_to(tmp_path / "gone.md")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "gone")
    (tmp_path / "round.csv").symlink_to(tmp_path / "round.csv")
    for name, sentence in {
        "empty": "no text, Markdown, HTML or PDF files, but no files; a table",
        "linked": r"a\.md is a link to a file that is not there; remove it",
        "gone.csv": r"there is no file .*gone\.csv \(a link to a file that is not there\)",
        "round.csv": r"there is no file .*round\.csv \(a link to a file that is not there\)",
        "none.csv": r"there is no file .*none\.csv",
    }.items():
        assert re.search(sentence, refused(tmp_path / name))


def test_a_gigabyte_without_a_line_break_is_refused_at_once(
    tmp_path_factory: pytest.TempPathFactory, refused: Refused
) -> None:
    elsewhere = tmp_path_factory.mktemp("large")  # everything in the other folder is compared
    for name, begin in (("c.csv", b"id,text\n1,"), ("c.jsonl", b'{"id": "1", "text": "a"}\n{')):
        with (elsewhere / name).open("wb") as file:
            file.write(begin)
            file.write(b"x" * (delimited.LONGEST_FIELD * 5))
            file.truncate(1 << 30)
        with pytest.raises(InputError, match="line 2: the line is longer than 64 MiB; split it"):
            documents_from(elsewhere / name)
        assert "line 2: the line is longer than 64 MiB; split it" in refused(elsewhere / name)
        (elsewhere / name).unlink()


def test_a_quote_that_swallows_a_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "LONGEST_FIELD", 200_000)
    csv.field_size_limit(200_000)
    path = put(tmp_path / "c.csv", GOOD + '2,"Dogs\n' + "3,bark\n" * 200_000)
    with pytest.raises(InputError, match=r"line 3: a field has more than .* characters; perhaps a quote is not"):
        documents_from(path)


def test_formats_that_do_not_fit(tmp_path: Path) -> None:
    path = put(tmp_path / "c.csv", GOOD)
    for how, sentence in (
        ({"format": "xls"}, f"the formats are {', '.join(FORMATS)}, not 'xls'"),
        ({"format": "json", "delimiter": ";"}, "JSON has no delimiter"),
        ({"delimiter": "ab"}, "a delimiter is one character, or tab, not 'ab'"),
        ({"format": "parquet"}, r"c\.csv is not Parquet"),
    ):
        with pytest.raises(InputError, match=sentence):
            documents_from(path, reading=Reading(**how))
    with pytest.raises(InputError, match="a format and a delimiter are those of a file"):
        documents_from({"a": "x"}, reading=Reading(format="csv"))
    with pytest.raises(InputError, match="fields are those of dicts, rows or files"):
        documents_from({"a": "x"}, reading=Reading(text_field="text"))


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [("c.parquet", "pyarrow", "parquet"), ("d/a.html", "bs4", "html"), ("d/a.pdf", "pypdf", "pdf")],
)
def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str, extra: str
) -> None:
    path = put(tmp_path / name, b"PAR1" if extra == "parquet" else b"%PDF-" if extra == "pdf" else "x")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=rf"needs .*pip install 'chamfer\[{extra}\]'"):
        documents_from(path.parent if name.startswith("d/") else path)
