"""Documents from the files that people have: formats and columns are recognised, and nothing is lost in silence."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chamfer import InputError
from chamfer.data.corpus import documents_from
from chamfer.data.documents import Document
from chamfer.data.reading import Reading
from chamfer.errors import InputWarning
from tests.conftest import write_lines

RECORDS: list[dict[str, Any]] = [
    {"id": "1", "title": "Cats", "text": "sleep,\nall day", "year": 2021, "wild": False},
    {"id": "2", "text": "Dogs; bark\tat “night”", "year": 2022, "wild": True},
]
EXPECTED = [
    Document("1", "sleep,\nall day", "Cats", {"year": 2021, "wild": False}),
    Document("2", "Dogs; bark\tat “night”", metadata={"year": 2022, "wild": True}),
]


def frame() -> pd.DataFrame:
    return pd.DataFrame(RECORDS)


WRITERS: dict[str, Callable[[Path], object]] = {
    "c.csv": lambda path: frame().to_csv(path, index=False),
    "bom.csv": lambda path: frame().to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n"),
    "c.tsv": lambda path: frame().to_csv(path, index=False, sep="\t"),
    "c.jsonl": lambda path: write_lines(path, RECORDS),
    "c.json": lambda path: path.write_text(json.dumps(RECORDS, indent=1)),
    "ids.json": lambda path: path.write_text(json.dumps({one["id"]: one for one in RECORDS})),
    "c.parquet": lambda path: frame().to_parquet(path, row_group_size=1),
    "lines": lambda path: write_lines(path, RECORDS),
}


def read(source: Any, **how: Any) -> list[Document]:
    corpus = documents_from(source, reading=Reading(**how))
    found = list(corpus.read())
    assert len(corpus) == len(found)
    assert corpus.take(range(len(found))[::-1]) == found[::-1]
    assert list(corpus.read(1)) == found[1:]
    return found


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Count {len(pages)}/Kids[{{kids}}]>>"]
    objects.append("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    kids = []
    for text in pages:
        stream = f"BT /F 12 Tf 50 700 Td ({text}) Tj ET"
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}\nendstream")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {len(objects)} 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = objects[1].format(kids=" ".join(kids))
    content, starts = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        starts.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n".encode()
    table = "".join(f"{start:010} 00000 n \n" for start in starts)
    count = len(objects) + 1
    end = (
        f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{len(content)}\n"
    )
    return content + f"{end}%%EOF\n".encode()


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_documents(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    assert read(tmp_path / name) == EXPECTED


def test_a_copy_without_a_suffix_is_read_as_the_format_that_is_named(tmp_path: Path) -> None:
    for name, form in (("c.csv", "csv"), ("c.parquet", "parquet"), ("c.json", "json"), ("c.jsonl", "jsonl")):
        WRITERS[name](tmp_path / name)
        assert read((tmp_path / name).rename(tmp_path / "unnamed"), format=form) == EXPECTED


class TestColumns:
    def test_question_and_answer_are_title_and_text_and_rows_are_numbered(self, tmp_path: Path) -> None:
        path = put(tmp_path / "faq.csv", "question,answer,topic\nWhy?,Because.,life\nHow?,So.,work\n")
        with pytest.warns(InputWarning) as told:
            documents = read(path)
        assert documents == [
            Document("1", "Because.", "Why?", {"topic": "life"}),
            Document("2", "So.", "How?", {"topic": "work"}),
        ]
        first, second = [str(one.message) for one in told]
        assert first.startswith(f"{path}: texts are read from 'answer', and titles from 'question'; --text-field")
        assert second.startswith(f"{path} has no column of ids, so its rows are numbered: 1, 2, 3, ...; --id-field")

    def test_named_columns_are_joined_and_nothing_is_said(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.csv", "code,name,story,year,text\nA,Owl,hoots,1990,own\n")
        [document] = read(path, id_field="code", text_field=["story", "year"], title_field="name")
        assert document == Document("A", "hoots\n\n1990", "Owl", {"text": "own"})
        assert read(path, id_field="row", text_field="story")[0].id == "1"

    @pytest.mark.parametrize("kind", ["frame", "list", "dataset", "jsonl", "json", "parquet"])
    def test_columns_are_named_alike_for_every_source(self, tmp_path: Path, kind: str) -> None:
        records = [{"code": 7, "name": "Owl", "story": "hoots", "year": 1990}]
        path = tmp_path / f"x.{kind}"
        source: Any = path
        if kind in ("frame", "parquet"):
            source = pd.DataFrame(records)
        if kind == "parquet":
            source.to_parquet(path)
            source = path
        if kind in ("json", "jsonl"):
            put(path, json.dumps(records if kind == "json" else records[0]))
        if kind == "list":
            source = records
        if kind == "dataset":
            source = dataset(records)
        expected = [Document("7", "hoots", "Owl", {"year": 1990})]
        assert read(source, id_field="code", text_field="story", title_field="name") == expected

    def test_an_index_with_a_name_is_a_column(self) -> None:
        assert read(frame().set_index("id")) == EXPECTED

    def test_capital_letters_and_other_names_are_recognised_and_said(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.csv", "ID,Title,Body\n1,Cats,sleep\n")
        with pytest.warns(InputWarning) as told:
            assert read(path) == [Document("1", "sleep", "Cats")]
        texts, ids = [str(one.message) for one in told]
        assert "texts are read from 'Body', and titles from 'Title'; --text-field" in texts
        assert "ids are read from 'ID'; --id-field" in ids

    @pytest.mark.parametrize("name", ["headline", "Title", "question", "Heading"])
    @pytest.mark.parametrize("suffix", ["csv", "jsonl"])
    def test_titles_beside_a_usual_text_are_recognised_and_said(self, tmp_path: Path, name: str, suffix: str) -> None:
        content = f"id,{name},text\n1,Cats,sleep\n"
        if suffix == "jsonl":
            content = json.dumps({"id": "1", name: "Cats", "text": "sleep"})
        path = put(tmp_path / f"x.{suffix}", content)
        with pytest.warns(InputWarning, match=f"titles are read from '{name}'; --title-field") as told:
            assert read(path) == [Document("1", "sleep", "Cats")]
        assert len(told) == 1
        assert read(path, title_field=name) == [Document("1", "sleep", "Cats")], "nothing is said"

    def test_a_text_or_an_id_that_is_named_is_no_title(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.csv", "heading,question,text\n7,Why?,Because.\n")
        [document] = read(path, id_field="heading", text_field="question")
        assert document == Document("7", "Why?", metadata={"text": "Because."})

    @pytest.mark.parametrize(
        ("content", "how", "sentence"),
        [
            ("id,name\n1,a\n", {}, "has no column of texts that could be recognised; its columns are 'id' and 'name';"),
            ("id,text\n1,a\n", {"text_field": "body"}, "has no column 'body'; its columns are 'id' and 'text'"),
            ("id,body,content\n1,a,b\n", {}, "'body' and 'content' could each be the text; choose with --text-field"),
            (
                "id,text,heading,question\n1,a,b,c\n",
                {},
                "'heading' and 'question' could each be the title; choose with",
            ),
            ("id,text\n1,a\n", {"text_field": "text", "title_field": "text"}, "cannot be both a title and a text"),
        ],
    )
    def test_what_is_not_clear_is_an_error(self, tmp_path: Path, content: str, how: Any, sentence: str) -> None:
        with pytest.raises(InputError, match=sentence):
            read(put(tmp_path / "x.csv", content), **how)

    def test_a_field_that_no_object_has_is_an_error(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "c.jsonl", RECORDS)
        with pytest.raises(InputError, match="no record has a field 'titel'; the fields are 'id', 'title'"):
            read(tmp_path / "c.jsonl", title_field="titel")

    @pytest.mark.filterwarnings("ignore:.*rows are numbered")
    def test_lines_are_numbered_only_if_none_has_an_id(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "c.jsonl", [{"text": "a"}, {"text": "b"}])
        assert [document.id for document in read(tmp_path / "c.jsonl")] == ["1", "2"]
        write_lines(tmp_path / "c.jsonl", [{"text": "a"}, {"id": "x", "text": "b"}])
        with pytest.raises(InputError, match="line 2: the record has an id, but the first has none"):
            read(tmp_path / "c.jsonl")


class TestTypes:
    def test_a_column_is_what_all_of_its_values_are(self, tmp_path: Path) -> None:
        rows = {
            "n": ["1", "-20", ""],
            "zip": ["01067", "10115", "80331"],
            "price": ["1.50", "2", "NaN"],
            "open": ["true", "False", "TRUE"],
            "day": ["2024-01-02", "2024", "n/a"],
            "code": ["1E5", "7", "8"],
            "phone": ["+4912", "1", "2"],
            "half": ["true", "1", "2"],
            "huge": ["12345678901234567890", "1", "2"],
            "none": ["NaN", "NaN", "nan"],
        }
        pd.DataFrame({"id": ["a", "b", "c"], "text": "x", **rows}).to_csv(tmp_path / "c.csv", index=False)
        first, second, third = (document.metadata for document in read(tmp_path / "c.csv"))
        assert first == {
            "n": 1,
            "zip": "01067",
            "price": 1.5,
            "open": True,
            "day": "2024-01-02",
            "code": "1E5",
            "phone": "+4912",
            "half": "true",
            "huge": "12345678901234567890",
        }
        assert (second["n"], second["price"], second["open"]) == (-20, 2, False)
        assert "n" not in third
        assert "price" not in third

    def test_values_of_parquet_keep_their_types(self, tmp_path: Path) -> None:
        table = pa.table(
            {
                "id": [1, 2],
                "text": ["x", "y"],
                "day": [date(2024, 1, 2), None],
                "cost": [Decimal("1.5"), Decimal(2)],
                "nested": [{"tags": ["a", "b"]}, {"tags": []}],
                "share": [0.5, float("nan")],
                "image": [b"\x89", b"\x90"],
            }
        )
        pq.write_table(table, tmp_path / "c.parquet")
        with pytest.warns(InputWarning, match="column 'image' holds bytes, which are neither text nor metadata"):
            first, second = read(tmp_path / "c.parquet")
        assert first == Document(
            "1", "x", metadata={"day": "2024-01-02", "cost": 1.5, "nested": {"tags": ["a", "b"]}, "share": 0.5}
        )
        assert second.metadata == {"cost": 2, "nested": {"tags": []}}


class TestDelimiters:
    @pytest.mark.parametrize(
        ("name", "delimiter", "called"),
        [("c.csv", ";", "semicolons"), ("c.csv", "\t", "tabs"), ("c.tsv", ",", "commas")],
    )
    def test_another_delimiter_is_recognised_and_said(
        self, tmp_path: Path, name: str, delimiter: str, called: str
    ) -> None:
        frame().to_csv(tmp_path / name, index=False, sep=delimiter)
        with pytest.warns(InputWarning, match=f"uses {called} as its delimiter"):
            assert read(tmp_path / name) == EXPECTED
        assert read(tmp_path / name, delimiter=delimiter.replace("\t", "tab")) == EXPECTED

    def test_a_single_column_needs_no_delimiter(self, tmp_path: Path) -> None:
        path = put(tmp_path / "c.csv", "text\nCats sleep.\nDogs bark.\n")
        assert [document.text for document in read(path, id_field="row")] == ["Cats sleep.", "Dogs bark."]

    def test_a_text_may_mention_other_formats(self, tmp_path: Path) -> None:
        path = put(tmp_path / "c.csv", "id,text\n1,A PDF begins with %PDF-1.4 and Parquet with PAR1.\n")
        assert read(path)[0].text.startswith("A PDF begins with %PDF-1.4")

    def test_a_text_may_have_many_lines_and_quotes(self, tmp_path: Path) -> None:
        text = 'He said: "no"\n\n' * 20_000 + "end"
        pd.DataFrame({"id": ["1"], "text": [text]}).to_csv(tmp_path / "c.csv", index=False)
        assert read(tmp_path / "c.csv")[0].text == text


class TestFolders:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        put(
            tmp_path / "docs/cats.md",
            "---\ntags: [pets]\ndate: 2024-01-02\n---\n\n# Cats\n\nThey *sleep*.\n\n## More\n",
        )
        put(tmp_path / "docs/b/dogs.html", "<title>Dogs</title><p>They <b>b</b>ark.<p>At\nnight.<script>x()</script>")
        put(tmp_path / "docs/b/cats.md", "```\n# no heading\n```\n\nOwls\n====\n\nhoot")
        put(tmp_path / "docs/note.txt", "Birds sing.\n")
        put(tmp_path / "docs/.git/config.txt", "hidden")
        put(tmp_path / "docs/paper.pdf", pdf("Fish swim.", "In water."))
        return tmp_path / "docs"

    def test_files_are_documents_and_paths_their_ids(self, folder: Path) -> None:
        documents = {document.id: document for document in read(folder)}
        assert documents == {
            "cats.md": Document(
                "cats.md", "They *sleep*.\n\n## More", "Cats", {"tags": ["pets"], "date": "2024-01-02"}
            ),
            "b/dogs.html": Document("b/dogs.html", "They bark.\nAt night.", "Dogs"),
            "b/cats.md": Document("b/cats.md", "```\n# no heading\n```\n\nOwls\n====\n\nhoot", "Owls"),
            "note.txt": Document("note.txt", "Birds sing."),
            "paper.pdf": Document("paper.pdf", "Fish swim.\n\nIn water.", metadata={"pages": 2}),
        }

    def test_one_file_is_one_document(self, folder: Path) -> None:
        assert read(folder / "note.txt") == [Document("note.txt", "Birds sing.")]

    def test_only_files_of_a_format_are_read_on_request(self, folder: Path) -> None:
        with pytest.warns(InputWarning, match=r"files of other kinds are left out: \.md \(2\)"):
            assert [document.id for document in read(folder, format="text")] == ["note.txt"]

    def test_other_files_are_left_out_and_said(self, folder: Path) -> None:
        put(folder / "photo.jpg", b"\xff\xd8")
        with pytest.warns(InputWarning, match=r"docs: files of other kinds are left out: \.jpg \(1\)"):
            assert len(read(folder)) == 5

    def test_a_linked_folder_is_read_once(self, folder: Path) -> None:
        (folder / "b" / "loop").symlink_to(folder)
        (folder / "again").symlink_to(folder / "b")
        assert len(read(folder)) == 5

    def test_a_folder_with_a_corpus_is_a_beir_folder(self, folder: Path) -> None:
        write_lines(folder / "corpus.jsonl", RECORDS)
        assert read(folder) == EXPECTED


class Dataset:
    """Looks like a dataset of the library ``datasets``, which is large."""

    def __init__(self, rows: list[dict[str, Any]], names: list[str] | None) -> None:
        self.rows, self.column_names = rows, names

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


Dataset.__module__ = "datasets.arrow_dataset"


def dataset(rows: list[dict[str, Any]], *, streamed: bool = False) -> Dataset:
    return Dataset(rows, None if streamed else list(rows[0]))


@pytest.mark.parametrize("streamed", [False, True])
def test_datasets_are_read_row_by_row(streamed: bool) -> None:
    rows = [{"title": None, **one} for one in RECORDS]
    assert read(dataset(rows, streamed=streamed)) == EXPECTED


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.parquet", "c.csv"])
def test_standard_input_is_recognised_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    WRITERS[name](tmp_path / name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))
    assert read("-", format="csv" if name == "c.csv" else None) == EXPECTED


@pytest.mark.parametrize(
    ("content", "end"),
    [(b"id,text\n1,caf\xe9\n", "iconv -f WINDOWS-1252 -t UTF-8"), ("id,text\n", "iconv -f UTF-16 -t UTF-8")],
)
def test_standard_input_has_no_file_to_convert(monkeypatch: pytest.MonkeyPatch, content: str | bytes, end: str) -> None:
    given = content if isinstance(content, bytes) else content.encode("utf-16")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    with pytest.raises(InputError, match=f"{end}$"):
        read("-", format="csv")


def test_pages_without_text_are_counted(tmp_path: Path) -> None:
    level = logging.getLogger("pypdf").level
    with pytest.warns(InputWarning, match=r"a\.pdf: 1 of 3 pages has no text; OCR adds it"):
        [document] = read(put(tmp_path / "a.pdf", pdf("Fish swim.", "", "In water.")))
    assert document == Document("a.pdf", "Fish swim.\n\nIn water.", metadata={"pages": 3})
    assert logging.getLogger("pypdf").level == level


def test_a_pipe_is_read_like_standard_input(tmp_path: Path) -> None:
    write_lines(tmp_path / "c.jsonl", RECORDS)
    with subprocess.Popen(["cat", tmp_path / "c.jsonl"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert read(f"/dev/fd/{process.stdout.fileno()}") == EXPECTED


def test_the_digest_tells_contents_and_types_apart(tmp_path: Path) -> None:
    digests = set()
    for content in ("id,text,n\n1,a,1\n", "id,text,n\n1,a,1.0\n", "id,text,n\n1,b,1\n", "id,text,m\n1,a,1\n"):
        corpus = documents_from(put(tmp_path / "c.csv", content))
        assert documents_from(tmp_path / "c.csv").digest == corpus.digest
        digests.add(corpus.digest)
    assert len(digests) == 4


READ_WITH_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
import pyarrow.parquet
from chamfer.data.corpus import documents_from

used = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
limit = used + (40 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
for path in sys.argv[1:]:
    corpus = documents_from(path)
    assert len(corpus) == 20000 and sum(len(document.text) for document in corpus.read()) == 20000 * 4000, path
    assert corpus.take([19999])[0].metadata == {"n": 19999}
"""


def test_files_larger_than_memory_are_read(tmp_path: Path) -> None:
    """80 MB each, with 40 MB to spare."""
    text = "cats sleep all day. " * 200
    with (tmp_path / "c.csv").open("w") as file:
        file.write("id,text,n\n")
        file.writelines(f"d{n},{text[:-1]}.,{n}\n" for n in range(20000))
    schema = pa.schema({"id": pa.string(), "text": pa.string(), "n": pa.int64()})
    with pq.ParquetWriter(
        tmp_path / "c.parquet", schema, use_dictionary=False, compression="none", write_batch_size=64
    ) as writer:
        for start in range(0, 20000, 10000):
            part = range(start, start + 10000)
            columns = {"id": [f"d{n}" for n in part], "text": [f"{text[:-1]}."] * 10000, "n": [*part]}
            writer.write_table(pa.table(columns, schema=schema), row_group_size=10000)
    command = [sys.executable, "-c", READ_WITH_LITTLE_MEMORY, *map(str, (tmp_path / "c.csv", tmp_path / "c.parquet"))]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
