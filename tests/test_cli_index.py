"""``chamfer index`` and ``chamfer search`` as a person runs them."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from chamfer.cli.app import main
from chamfer.cli.fields_table import print_fields
from chamfer.cli.search import print_hits
from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.errors import DamagedError
from chamfer.index import building
from chamfer.index.field_counts import Field, Fields, FieldValue
from chamfer.index.filters import parse_filter
from chamfer.index.index import Index
from chamfer.index.manifest import MANIFEST
from chamfer.index.writing import Writer
from chamfer.search.hits import Hit
from chamfer.search.searcher import Searcher
from chamfer.weights.mix import Mix
from tests.conftest import DOCUMENTS, write_lines
from tests.test_cli import Done, Run, assert_refused

DATED = [
    {"_id": name, "title": "", "text": text, "year": 2000 + place, "metadata": {"lang": "en" if place % 2 else "de"}}
    for place, (name, text) in enumerate(DOCUMENTS.items())
]


@pytest.fixture(scope="module")
def loaded(plain_checkpoint: Path) -> dict[str, Encoder]:
    return {"auto": Encoder.load(str(plain_checkpoint))}


@pytest.fixture
def run(
    tmp_path: Path,
    plain_checkpoint: Path,
    loaded: dict[str, Encoder],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run the command inside this process, in a folder with a corpus, with the tiny encoder loaded once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    write_lines(tmp_path / "corpus.jsonl", DATED)
    load = Encoder.load

    def load_once(name: str, **settings: Any) -> Encoder:
        asked = [settings.get(length) for length in ("query_length", "document_length")]
        plain = name == str(plain_checkpoint) and set(asked) <= {None, 64}
        return loaded["auto"] if plain else load(name, **settings)

    monkeypatch.setattr(Encoder, "load", load_once)

    def call(*arguments: str | Path, stdin: str = "") -> Done:
        encodes = arguments[:2] == ("index", "build") or arguments[0] == "evaluate"
        encoder = ["--encoder", str(plain_checkpoint)] if encodes else []
        monkeypatch.setattr(sys, "argv", ["chamfer", *map(str, arguments), *encoder])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Done(int(left.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def built(run: Run) -> Run:
    """The same, with an index of the corpus."""
    done = run("index", "build", "corpus.jsonl", "--out", "index")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == "indexed 5 documents; search them with: chamfer search index 'your query'\n"
    return run


def found(run: Run, *arguments: str) -> list[str]:
    done = run("search", "index", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "a pipe sees no progress bar"
    return [hit["id"] for hit in json.loads(done.stdout)["hits"]]


class TestSearch:
    def test_people_see_ranks_scores_texts_and_metadata(self, built: Run) -> None:
        done = built("search", "index", "why is the sky blue", "-k", "2", "--min-score", "0.1", "--weights", "idf-soft")
        first, text, metadata, second, *_ = done.stdout.splitlines()
        assert first.split()[0::2] == ["1", "d3"]
        assert float(first.split()[1]) == pytest.approx(1, abs=5e-3)
        assert text.strip() == DOCUMENTS["d3"]
        assert metadata == "    year: 2002 · lang: de"
        assert second.split()[0] == "2"

    def test_a_search_that_found_nothing_but_unrelated_documents_says_so(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "many.jsonl", [{"_id": str(n), "text": f"the cat sat {n}"} for n in range(25)])
        run("index", "build", "many.jsonl", "--out", "index")
        said = "probably nothing here: no document scores higher than unrelated text"
        with patch("chamfer.search.searcher.Searcher.unrelated_score", return_value=1.0):
            done = run("search", "index", "dog")
            assert said in done.stderr
            assert json.loads(run("search", "index", "dog", "--json").stdout)["probably_nothing"] is True
        with patch("chamfer.search.searcher.Searcher.unrelated_score", return_value=0.0):
            assert said not in run("search", "index", "dog").stderr

    def test_an_index_that_cannot_be_written_is_searched_without_an_estimate(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_lines(tmp_path / "many.jsonl", [{"_id": str(n), "text": f"the cat sat {n}"} for n in range(25)])
        write_lines(tmp_path / "queries.jsonl", [{"_id": "q", "text": "dog"}])
        run("index", "build", "many.jsonl", "--out", "index")
        real, estimate = os.access, "chamfer.search.background.kernel_scores"
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
        with patch(estimate, side_effect=AssertionError):
            assert "probably" not in run("search", "index", "dog").stderr
            assert json.loads(run("search", "index", "dog", "--json").stdout)["probably_nothing"] is None
        told = json.loads(run("search", "index", "--queries", "queries.jsonl").stdout)["probably_nothing"]
        assert told is not None, "many queries are worth it"
        with patch(estimate, side_effect=AssertionError):
            assert json.loads(run("search", "index", "dog", "--json").stdout)["probably_nothing"] is told, "it is kept"

    def test_results_are_printed_before_anything_is_estimated(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "many.jsonl", [{"_id": str(n), "text": f"the cat sat {n}"} for n in range(25)])
        run("index", "build", "many.jsonl", "--out", "index")
        with patch("chamfer.search.background.kernel_scores", side_effect=DamagedError("the index is damaged")):
            done = run("search", "index", "dog", "-k", "2")
        assert (len(done.stdout.splitlines()), done.returncode) == (4, 2)

    def test_a_long_text_keeps_its_indent(self, capsys: pytest.CaptureFixture[str]) -> None:
        metadata = {"tags": ["a", "b"], "by": {"name": "Ada"}, "open": True, "title": "Owls"}
        print_hits([Hit("d1", 0.5, "the cat sat on a mat " * 20, metadata)])
        first, *others = capsys.readouterr().out.splitlines()
        assert first == " 1  0.5000  d1"
        assert [len(line) - len(line.lstrip()) for line in others] == [4] * 4
        assert others[-1].strip() == 'tags: a, b · by: {"name": "Ada"} · open: true · title: Owls'

    def test_a_title_is_a_headline(self, capsys: pytest.CaptureFixture[str]) -> None:
        print_hits([Hit("d1", 0.5, "hoot at night", {}, "Owls [of Europe]")])
        assert capsys.readouterr().out.splitlines() == [" 1  0.5000  d1  Owls [of Europe]", "    hoot at night"]

    def test_programs_read_a_line_of_json(self, built: Run) -> None:
        [line] = built("search", "index", "blue sky", "-k", "3", "--json").stdout.splitlines()
        answer = json.loads(line)
        assert answer["id"] == "query"
        assert [set(hit) for hit in answer["hits"]] == [{"id", "score", "title", "text", "metadata", "passage"}] * 3
        scores = [hit["score"] for hit in answer["hits"]]
        assert scores == sorted(scores, reverse=True)

    def test_several_queries_come_from_a_file(self, built: Run, tmp_path: Path) -> None:
        records = [{"_id": "x", "text": DOCUMENTS["d2"]}, {"id": "y", "text": DOCUMENTS["d4"]}]
        write_lines(tmp_path / "queries.jsonl", records)
        lines = built("search", "index", "--queries", "queries.jsonl", "-k", "1").stdout.splitlines()
        answers = [json.loads(line) for line in lines]
        assert [(answer["id"], answer["hits"][0]["id"]) for answer in answers] == [("x", "d2"), ("y", "d4")]

    def test_ids_of_queries_in_a_file_are_checked(self, built: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "queries.jsonl", [{"_id": ["7"], "text": "the cat"}])
        assert_refused(built("search", "index", "--queries", "queries.jsonl"), "'_id' must be a string")

    def test_the_manifest_is_read_once_and_the_filter_parsed_once(self, built: Run) -> None:
        built("search", "index", "cat")  # makes what is derived from the index
        with (
            patch.object(Path, "read_bytes", autospec=True, side_effect=Path.read_bytes) as read,
            patch("chamfer.index.filters.parse_filter", side_effect=parse_filter) as parsed,
        ):
            built("search", "index", "cat", "--where", "year > 2001")
        assert [call.args[0].name for call in read.call_args_list].count(MANIFEST) == 1
        assert parsed.call_count == 1

    def test_more_queries_than_are_asked_at_a_time(self, built: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "q.jsonl", [{"_id": f"q{n}", "text": "the cat"} for n in range(130)])
        lines = built("search", "index", "--queries", "q.jsonl", "-k", "1").stdout.splitlines()
        assert [json.loads(line)["id"] for line in lines] == [f"q{n}" for n in range(130)]

    def test_a_field_that_no_document_has_is_told(self, built: Run) -> None:
        done = built("search", "index", "cat", "--where", "yaer > 2000 or year > 2001")
        assert "no document has the field 'yaer'; known fields: lang, year" in done.stderr

    def test_a_value_of_another_kind_is_told(self, built: Run) -> None:
        done = built("search", "index", "cat", "--where", "year = '2003'")
        assert "note: the field 'year' holds numbers, never text; write text in quotes" in done.stderr
        assert done.stderr.count("note:") == 1

    def test_a_filter_restricts_what_is_found(self, built: Run) -> None:
        assert sorted(found(built, "the cat", "--where", "year >= 2003 and lang = 'en'")) == ["d4"]
        assert sorted(found(built, "the cat", "--where", "lang = 'de'")) == ["d1", "d3", "d5"]
        assert found(built, "the cat", "--where", "year > 3000") == []
        assert built("search", "index", "the cat", "--where", "year > 3000").stdout == "no documents found\n"

    def test_a_threshold_that_nothing_reaches_is_named(self, built: Run) -> None:
        done = built("search", "index", "the cat", "--min-score", "0.999")
        assert (done.stdout, done.stderr.strip()) == ("no documents found\n", "note: no document scores 0.999 or more")

    @pytest.mark.parametrize("stage", ["exhaustive", "centroids", "bm25", "dense", "muvera", "bm25+dense"])
    def test_every_first_stage_can_be_named(self, built: Run, stage: str) -> None:
        assert found(built, DOCUMENTS["d2"], "-k", "1", "--first-stage", stage) == ["d2"]

    def test_form_weights_and_depth_can_be_chosen(self, built: Run) -> None:
        arguments = ("--form", "cosine", "--weights", "idf", "--depth", "2", "--first-stage", "dense")
        assert found(built, DOCUMENTS["d5"], "-k", "1", *arguments) == ["d5"]

    def test_a_mix_of_the_command_line_replaces_that_of_the_weights(self, built: Run, tmp_path: Path) -> None:
        searcher = Searcher.open(tmp_path / "index")
        for weights in ("uniform", "mix"):
            done = built("search", "index", "a dog", "--json", "--weights", weights, "--mix", "3,0.5")
            mixed = searcher.queries.resolve(weights).with_mix(Mix(3, 0.5))
            expected = [hit.score for hit in searcher.search("a dog", weights=mixed)]
            assert [hit["score"] for hit in json.loads(done.stdout)["hits"]] == expected
        for wrong, told in (("3", "must be two numbers"), ("a,b", "must be two"), ("101,0", "to 100, not 101.0")):
            assert_refused(built("search", "index", "a dog", "--mix", wrong), told)

    def test_a_document_without_text_scores_0(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "some.jsonl", [{"_id": "a", "text": ""}, {"_id": "b", "text": "the cat"}])
        run("index", "build", "some.jsonl", "--out", "index", "--allow-empty")
        answer = json.loads(run("search", "index", "cat", "--json").stdout, parse_constant=pytest.fail)
        assert [hit["id"] for hit in answer["hits"]] == ["b", "a"]
        assert answer["hits"][1]["score"] == 0
        assert answer["probably_nothing"] is None

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["index"], "give either a query or --queries FILE"),
            (["index", "cat", "--queries", "queries.jsonl"], "give either a query or --queries FILE"),
            (["index", "--queries", "none.jsonl"], "there is no file none.jsonl"),
            (["index", "--queries", "twice.jsonl"], "twice.jsonl, line 2: the id '1' was used before"),
            (["index", "--queries", "blank.jsonl"], "line 1: query '1' has no text"),
            (["index", "--queries", "nothing.jsonl"], "nothing.jsonl holds no queries"),
            (["index", " "], "the query is empty"),
            (["index", "cat", "--first-stage", "plaid"], "first stages are auto, bm25"),
            (["index", "cat", "--weights", "heavy"], "not 'heavy'"),
            (
                ["index", "cat", "--where", "year >"],
                "position 7, but the filter ends there\n  year >\n        ^\n",
            ),
            (["nowhere", "cat"], "nowhere holds no index; make one with: chamfer index build"),
        ],
    )
    def test_misuse_ends_in_one_sentence(self, built: Run, tmp_path: Path, arguments: list[str], sentence: str) -> None:
        write_lines(tmp_path / "queries.jsonl", [{"_id": "1", "text": "cat"}])
        write_lines(tmp_path / "twice.jsonl", [{"_id": "1", "text": "cat"}, {"_id": "1", "text": "dog"}])
        write_lines(tmp_path / "blank.jsonl", [{"_id": "1", "text": " "}])
        write_lines(tmp_path / "nothing.jsonl", [])
        assert_refused(built("search", *arguments), sentence)


@pytest.mark.parametrize(
    "command", ["info index", "verify index", "delete index d1", "compact index", "shard index --out shards"]
)
def test_what_encodes_nothing_imports_no_torch(built: Run, tmp_path: Path, command: str) -> None:
    code = f"""
import sys
from chamfer.cli.app import app
app({["index", *command.split()]!r}, standalone_mode=False)
assert not {{"torch", "sentence_transformers", "transformers"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True)


class TestIndex:
    def test_documents_are_added_replaced_and_deleted(self, built: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "new.jsonl", [{"_id": "d6", "text": "sleep sleep"}, {"_id": "d7", "text": "at the mat"}])
        assert built("index", "add", "index", "new.jsonl").stderr == "added 2 of 2 documents; index now holds 7\n"
        assert found(built, "sleep sleep", "-k", "1") == ["d6"]
        write_lines(tmp_path / "new.jsonl", [{"_id": "d6", "text": "it is a sky"}])
        assert_refused(
            built("index", "add", "index", "new.jsonl"),
            "'d6' is in the index already, with another text or metadata; replace it",
        )
        replaced = built("index", "add", "index", "new.jsonl", "--replace").stderr
        assert replaced == "added 1 of 1 documents (1 replaced); index now holds 7\n"
        assert found(built, "it is a sky", "-k", "1") == ["d6"]
        done = built("index", "delete", "index", "d6", "d1", "d1", "none")
        assert done.stderr == "deleted 2 documents\nnote: not in the index: none\n"
        unknown = [f"no{place}" for place in range(12)]
        done = built("index", "delete", "index", "d7", *unknown)
        assert done.stderr == f"deleted 1 document\nnote: not in the index: {', '.join(unknown[:10])} and 2 more\n"
        write_lines(tmp_path / "new.jsonl", [{"_id": "d7", "text": "at the mat"}])
        assert built("index", "add", "index", "new.jsonl").returncode == 0
        assert sorted(found(built, "sky")) == ["d2", "d3", "d4", "d5", "d7"]
        assert built("index", "delete", "index", "--where", "lang = 'en'").stderr == "deleted 2 documents\n"
        assert sorted(found(built, "sky")) == ["d3", "d5", "d7"]
        assert built("index", "compact", "index").stderr == "3 documents in 1 segment\n"
        assert sorted(found(built, "sky")) == ["d3", "d5", "d7"]
        told = json.loads(built("index", "info", "index", "--json").stdout)
        assert (told["documents"], told["deleted"], told["segments"]) == (3, 0, 1)

    def test_an_interrupted_addition_goes_on(self, built: Run, tmp_path: Path) -> None:
        more = [{"_id": f"more{place}", "text": f"a dog and {place} cats"} for place in range(4)]
        write_lines(tmp_path / "some.jsonl", more[:2])
        write_lines(tmp_path / "more.jsonl", more)
        built("index", "add", "index", "some.jsonl")
        done = built("index", "add", "index", "more.jsonl")
        assert "added 2 of 4 documents (2 already there); index now holds 9" in done.stderr
        write_lines(tmp_path / "more.jsonl", [{**more[0], "text": "another text"}])
        assert_refused(built("index", "add", "index", "more.jsonl"), "document 'more0' is in the index already")

    def test_a_build_that_is_refused_leaves_nothing_behind(self, run: Run, tmp_path: Path) -> None:
        done = run("index", "build", "corpus.jsonl", "--out", "new", "--dimensions", "8", "--pool", "8")
        assert_refused(done, "a projection is learnt from at least")
        assert not (tmp_path / "new").exists()
        assert_refused(
            run("index", "build", "corpus.jsonl", "--out", "corpus.jsonl"), "is a file, but an index is a folder"
        )

    def test_who_interrupts_a_build_learns_that_it_can_be_resumed(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(*_arguments: Any, **_named: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Writer, "add_rows", interrupt)
        done = run("index", "build", "corpus.jsonl", "--out", "index")
        assert done.returncode != 0
        assert "interrupted: 0 of 5 documents are indexed, and 5 are encoded already; run the same co" in done.stderr

    def test_who_interrupts_a_replacement_learns_what_is_kept(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """With passages too, documents are counted; one that was replaced is no more than before."""
        add = Writer.add_long

        def interrupt(writer: Writer, *arguments: Any, **named: Any) -> int:
            if writer.manifest.documents > 5:
                raise KeyboardInterrupt
            return add(writer, *arguments, **named)

        assert run("index", "build", "corpus.jsonl", "--out", "index", "--passages").returncode == 0
        write_lines(tmp_path / "new.jsonl", [{"_id": name, "text": "a mat " * 900} for name in ("d1", "more", "last")])
        monkeypatch.setattr(Writer, "add_long", interrupt)
        monkeypatch.setattr(building, "CHUNK_TOKENS", 2048)
        done = run("index", "add", "index", "new.jsonl", "--replace")
        assert "index holds 6 documents, 1 more than before, and those that were replaced stay so; run" in done.stderr

    def test_what_is_cut_is_told(self, run: Run) -> None:
        done = run("index", "build", "corpus.jsonl", "--out", "short", "--document-length", "5")
        assert "documents were truncated to 5 tokens" in done.stderr
        done = run("search", "short", "the cat sat on a mat " * 30)
        assert "1 of 1 queries were truncated to 64 tokens" in done.stderr

    def test_info_is_told_to_people_and_programs(self, built: Run, plain_checkpoint: Path) -> None:
        told = json.loads(built("index", "info", "index", "--json").stdout)
        assert (told["documents"], told["precision"], told["encoder"]) == (5, "float16", str(plain_checkpoint))
        lines = built("index", "info", "index").stdout.splitlines()
        assert lines[0].split() == ["documents", "5"]
        assert any(re.fullmatch(r"size +[0-9.]+ [kM]?B|size +[0-9]+ bytes", line) for line in lines), lines
        assert any(line.startswith("size of first stages") for line in lines)
        assert any(re.fullmatch(r"commit +[0-9]+", line) for line in lines), "version would be that of chamfer"
        assert told["commit"] == Index.open("index").snapshot.manifest.version

    def test_info_lists_the_fields_that_filters_can_compare(self, built: Run, tmp_path: Path) -> None:
        fields = json.loads(built("index", "info", "index", "--json").stdout)["fields"]
        assert [(one["name"], one["kind"], one["documents"], one["distinct"]) for one in fields] == [
            ("lang", "text", 5, 2),
            ("year", "number", 5, 5),
        ]
        assert fields[0]["values"] == [{"value": "de", "documents": 3}, {"value": "en", "documents": 2}]
        assert (fields[1]["lowest"], fields[1]["highest"]) == (2000, 2004)
        lines = [line.split() for line in built("index", "info", "index").stdout.splitlines()]
        assert ["lang", "text", "5", "2", "de", "3", "·", "en", "2"] in lines
        years = " · ".join(f"{year} 1" for year in range(2000, 2005))
        assert ["year", "number", "5", "5", "2000", "to", "2004", *years.split()] in lines

    def test_info_of_a_damaged_index_says_why_no_fields_are_shown(self, built: Run, tmp_path: Path) -> None:
        [texts] = (tmp_path / "index").rglob("documents.sqlite")
        texts.write_bytes(bytes(texts.stat().st_size))
        done = built("index", "info", "index", "--json")
        assert (done.returncode, json.loads(done.stdout)["fields"]) == (0, None)
        assert "note: the metadata fields are not shown: " in done.stderr
        assert "documents.sqlite is damaged: file is not a database; delete the index" in done.stderr

    def test_values_are_shown_short_and_safely(self, capsys: pytest.CaptureFixture[str]) -> None:
        values = (FieldValue("[red]" + "x" * 50, 3), FieldValue("a\x1b[2Jb", 2), FieldValue(True, 1))
        unsafe = Field("[b]name", "mixed", 1234567, True, 9, False, values, None, None)
        print_fields(Fields([unsafe], complete=False))
        shown = capsys.readouterr().out
        for part in (
            "[b]name",
            "mixed, several",
            "1,234,567",
            "9 or more",
            "[red]xxx",
            "… 3",
            "'a\\x1b[2Jb' 2",
            "true 1",
        ):
            assert part in shown
        assert shown.splitlines()[-1] == "and fields that fewer documents have"

    def test_verify_finds_what_is_damaged(self, built: Run, tmp_path: Path) -> None:
        assert built("index", "verify", "index").stdout == "index is intact\n"
        assert json.loads(built("index", "verify", "index", "--json").stdout) == []
        [path] = (tmp_path / "index").rglob("codes.u8")
        path.write_bytes(bytes(path.stat().st_size))
        done = built("index", "verify", "index")
        assert done.returncode == 1
        assert "codes.u8" in done.stdout

    @pytest.mark.parametrize("arguments", [["--precision", "int8"], ["--precision", "2bit", "--dimensions", "8"]])
    def test_a_smaller_index_is_searched_like_any(self, run: Run, arguments: list[str]) -> None:
        done = run("index", "build", "corpus.jsonl", "--out", "index", "--first-stage", "centroids", *arguments)
        assert done.returncode == 0, done.stderr
        assert json.loads(run("index", "info", "index", "--json").stdout)["bytes_of_first_stages"] > 0
        assert DOCUMENTS["d3"] in run("search", "index", DOCUMENTS["d3"], "-k", "2").stdout

    def test_the_same_command_goes_on_after_an_interruption(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(building, "CHUNK", 2)
        add = Writer.add_rows
        calls = 0

        def add_twice(*arguments: Any, **named: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise OSError(28, "No space left on device", "index/segments")
            add(*arguments, **named)

        with monkeypatch.context() as patched:
            patched.setattr(Writer, "add_rows", add_twice)
            done = run("index", "build", "corpus.jsonl", "--out", "index")
            assert_refused(done, "No space left on device, at index/segments")
        assert "4 of 5 documents" in run("index", "info", "index").stdout
        sentence = "is unfinished: 4 of 5 documents are indexed; run the same build again to finish it"
        assert_refused(run("search", "index", "cat"), sentence)
        assert_refused(run("index", "add", "index", "corpus.jsonl", "--replace"), sentence)
        load, asked = Encoder.load, []

        def load_told(name: str, **settings: Any) -> Encoder:
            asked.append((settings["arithmetic"], settings["engine"]))
            return load(name, **settings)

        with monkeypatch.context() as patched:
            patched.setattr(Encoder, "load", load_told)
            assert run("index", "build", "corpus.jsonl", "--out", "index").returncode == 0
        assert asked == [("float32", "torch")], "it goes on as it began, whatever is installed meanwhile"
        assert len(found(run, "cat")) == 5

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["build", "none.jsonl", "--out", "new"], "there is no file none.jsonl"),
            (["build", "/dev/null", "--out", "new"], "/dev/null is empty; it holds no documents"),
            (
                ["build", "rows.csv", "--out", "new"],
                "rows.csv has no column of texts that could be recognised; its col",
            ),
            (
                ["build", "rows.csv", "--out", "new", "--text-field", "b", "--delimiter", "ab"],
                "a delimiter is one char",
            ),
            (["build", "corpus.jsonl", "--out", "new", "--delimiter", ";"], "JSON lines, which has no delimiter"),
            (["build", "corpus.jsonl", "--out", "new", "--format", "xml"], "the formats are jsonl, json, csv"),
            (
                ["build", ".", "--out", "index"],
                "index holds a finished index; update it with: chamfer index add index FILE --replace",
            ),
            (["build", "corpus.jsonl", "--out", "new", "--first-stage", "plaid"], "first stages are auto, bm25"),
            (["build", "corpus.jsonl", "--out", "new", "--dimensions", "99"], "can be projected to 1 to "),
            (["build", "broken.jsonl", "--out", "new"], "broken.jsonl, line 2: not a JSON object"),
            (["add", "new", "corpus.jsonl"], "new holds no index; make one with: chamfer index build"),
            (["add", "index", "none.jsonl"], "there is no file none.jsonl"),
            (["delete", "index"], "give ids of documents to delete, or --where"),
            (["delete", "index", "d1", "--where", "year > 1"], "give ids or --where, not both"),
            (["delete", "new", "d1"], "new holds no index"),
            (["delete", "index", "--where", "year >"], "a filter needs a value at position 7"),
            (["compact", "new"], "new holds no index"),
            (["info", "new"], "new holds no index"),
            (["verify", "new"], "new holds no index"),
        ],
    )
    def test_misuse_ends_in_one_sentence_and_changes_nothing(
        self, built: Run, tmp_path: Path, arguments: list[str], sentence: str
    ) -> None:
        (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
        (tmp_path / "broken.jsonl").write_text('{"_id": "1", "text": "a"}\nbroken\n')
        before = built("index", "info", "index").stdout
        assert_refused(built("index", *arguments), sentence)
        assert not (tmp_path / "new").exists()
        assert built("index", "info", "index").stdout == before

    def test_help_has_an_example_for_each(self, run: Run) -> None:
        for name in ("build", "add", "delete", "compact", "info", "verify"):
            assert f"Example: chamfer index {name}" in run("index", name, "--help").stdout
        assert "Example: chamfer search" in run("search", "--help").stdout


def test_a_table_is_built_added_to_and_searched_by_its_columns(run: Run, tmp_path: Path) -> None:
    (tmp_path / "faq.csv").write_text("question,answer,year\nthe cat,sat on a mat,2020\na dog,barks at night,2021\n")
    done = run("index", "build", "faq.csv", "--out", "faq", "--title-field", "question", "--text-field", "answer")
    assert done.returncode == 0, done.stderr
    note, said = done.stderr.splitlines()
    assert note.startswith("note: faq.csv has no column of ids, so its rows are numbered: 1, 2, 3, ...; --id-field")
    assert said == "indexed 2 documents; search them with: chamfer search faq 'your query'"
    (tmp_path / "more.tsv").write_text("n\tname\tabout\ttopic\n7\tthe sky\tis blue\twhy\n")
    fields = ("--id-field", "n", "--text-field", "name", "--text-field", "about")
    assert run("index", "add", "faq", "more.tsv", *fields).stderr == "added 1 of 1 documents; faq now holds 3\n"
    shown = run("search", "faq", "the cat", "--where", "year = 2020").stdout.splitlines()
    assert shown[0].endswith("  1  the cat")
    assert shown[1:] == ["    sat on a mat", "    year: 2020"]
    assert Index.open("faq")["7"] == Document("7", "the sky\n\nis blue", metadata={"topic": "why"})


def test_one_document_is_spoken_of_in_the_singular(run: Run, tmp_path: Path) -> None:
    write_lines(tmp_path / "one.jsonl", [{"id": "1", "text": "the cat"}])
    done = run("index", "build", "one.jsonl", "--out", "one")
    assert done.stderr == "indexed 1 document; search it with: chamfer search one 'your query'\n"


def test_a_corpus_comes_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"id;text\na;the cat\nb;a dog\n")))
    done = run("index", "build", "-", "--format", "csv", "--delimiter", ";", "--out", "piped")
    assert done.returncode == 0, done.stderr
    assert list(Index.open("piped")) == ["a", "b"]


class TestEvaluate:
    def test_a_first_stage_can_be_named(self, run: Run, collection_folder: Path) -> None:
        arguments = ("evaluate", collection_folder, "--weights", "uniform", "--weights", "idf", "--json")
        for stage in ("centroids", "bm25+dense"):
            done = run(*arguments, "--first-stage", stage)
            assert done.returncode == 0, done.stderr
            report = json.loads(done.stdout)
            assert [system["name"] for system in report["systems"]] == [stage, "uniform", "idf"]
            assert report["settings"]["first_stage"] == stage

    def test_an_unknown_first_stage_is_refused(self, run: Run, collection_folder: Path) -> None:
        assert_refused(run("evaluate", collection_folder, "--first-stage", "plaid"), "first stages are auto, bm25")
