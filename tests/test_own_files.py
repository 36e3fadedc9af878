"""From a person's own files to learnt weights and a served page, with the commands of README as they are typed."""

import csv
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

import httpx
import numpy as np
from starlette.testclient import TestClient

import chamfer
from chamfer import Searcher, TokenWeights, build_index, evaluate, learn
from chamfer.errors import InputWarning
from chamfer.serve.app import create_app
from tests.conftest import write_lines

pytestmark = pytest.mark.usefixtures("few_steps")

HERE = Path(__file__).parent
BUILD, LEARN, EVALUATE, SEARCH, SERVE = re.findall(
    r"^    chamfer (.*faq-index/.*)$", (HERE.parent / "README.md").read_text(), re.M
)
QUERY = "can I get my money back"
LOAD_ONCE = cache(chamfer.Encoder.load)


class Typed(NamedTuple):
    """What a command printed."""

    out: str
    err: str


Type = Callable[[str], Typed]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    """Types a command in a folder of its own; the model is loaded once for all of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(chamfer.Encoder, "load", LOAD_ONCE)

    def call(line: str) -> Typed:
        monkeypatch.setattr(sys, "argv", ["chamfer", *shlex.split(line)])
        with pytest.raises(SystemExit) as left:
            import_module("chamfer.cli.app").main()
        shown = Typed(*capsys.readouterr())
        assert not left.value.code, shown.err
        return shown

    return call


def judged_rows() -> list[dict[str, str]]:
    with (HERE / "faq" / "judged.csv").open() as file:
        return list(csv.DictReader(file))


def check_served(line: str, best: str) -> None:
    """The command serves the page and answers a search, until it is stopped."""
    command = [sys.executable, "-m", "chamfer.cli.app", *shlex.split(line), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = next(line.split(" at ")[1].split()[0] for line in process.stderr if " at http://" in line)
        page = httpx.get(f"{address}/")
        assert "<title>" in page.text
        found = httpx.post(f"{address}/search", json={"query": QUERY, "k": 1}).json()
        assert found["hits"][0]["id"] == best
        process.terminate()
        assert process.wait(30) in (0, -signal.SIGTERM)


def test_a_table_of_questions_and_judged_rows_takes_five_commands(typed: Type, tmp_path: Path) -> None:
    for name in ("faq.csv", "judged.csv"):
        shutil.copy(HERE / "faq" / name, tmp_path)
    assert "rows are numbered: 1, 2, 3" in typed(BUILD).err
    said = typed(LEARN)
    assert "learnt from 8 judged queries" in said.out
    verdict, file = said.err.splitlines()[-1].rsplit("; ", 1)
    assert verdict.startswith("no better than the zero-shot mix on 4 held-out queries")
    assert "search with --weights mix" in verdict
    assert file == "wrote learnt.safetensors"
    compared = typed(EVALUATE)
    assert [line.split()[0] for line in compared.out.splitlines()[-3:]] == ["uniform", "mix", "learnt"]
    assert "note: 8 queries are left out, because weights were learnt from them" in compared.err
    assert ": 4 queries, 8 documents" in compared.out, "the ones that learn held out"
    assert "You get everything back" in typed(SEARCH).out
    check_served(SERVE, "2")
    for source, name in (("faq-index/", "index"), ("faq.csv", "corpus")):
        assert "appear in 8 documents" in typed(f"weights idf {source} --mix --out {name}.safetensors").err
    counted, again = (TokenWeights.load(tmp_path / f"{name}.safetensors") for name in ("index", "corpus"))
    np.testing.assert_array_equal(counted.table, again.table)
    assert counted.mix == again.mix


def test_a_folder_of_markdown_and_judged_files_take_the_same_five(typed: Type, tmp_path: Path) -> None:
    shutil.copytree(HERE / "handbook", tmp_path / "handbook", ignore=shutil.ignore_patterns("judged.csv"))
    with (HERE / "handbook" / "judged.csv").open() as file, (tmp_path / "judged.csv").open("w") as ours:
        writer = csv.writer(ours)
        writer.writerow(["question", "file", "relevance"])
        for row in csv.DictReader(file):
            writer.writerow([row["query"], row["document"].partition("#")[0], row["relevance"]])

    def of(line: str) -> str:
        return line.replace("faq.csv", "handbook/").replace("faq-index", "handbook-index")

    assert "indexed 10 documents" in typed(of(BUILD)).err
    said = typed(of(LEARN))
    assert "queries from 'question', documents from 'file', grades from 'relevance'" in said.err
    assert re.search(r"than the zero-shot mix on \d+ held-out queries .*; wrote learnt.safetensors$", said.err.strip())
    compared = typed(of(EVALUATE))
    [left_out] = re.findall(r"note: (\d+) queries are left out, because weights were learnt from them", compared.err)
    assert f": {30 - int(left_out)} queries, 10 documents" in compared.out
    assert "money.md" in typed(of(SEARCH)).out
    check_served(of(SERVE), "money.md")


def test_the_same_from_python(typed: Type, tmp_path: Path) -> None:
    for name in ("faq.csv", "judged.csv"):
        shutil.copy(HERE / "faq" / name, tmp_path)
    with pytest.warns(InputWarning):
        build_index("faq-index", "faq.csv")
    learnt = learn("faq-index", judgements="judged.csv", hold_out=0.3)
    assert learnt.verdict.startswith("no better than the zero-shot mix on 4 held-out queries")
    learnt.weights.save("learnt.safetensors")
    evaluation = evaluate("faq-index", ["uniform", "mix", "learnt.safetensors"], judgements="judged.csv")
    assert (evaluation.queries, evaluation.left_out, len(evaluation.systems)) == (4, 8, 3)
    searcher = Searcher.open("faq-index", weights="learnt.safetensors")
    assert searcher.search(QUERY, k=1)[0].id == "2"
    with TestClient(create_app(searcher), base_url="http://localhost") as client:
        assert "<title>" in client.get("/").text
        assert client.post("/search", json={"query": QUERY, "k": 1}).json()["hits"][0]["id"] == "2"


def test_options_that_an_index_has_a_use_for(typed: Type, tmp_path: Path) -> None:
    shutil.copy(HERE / "faq" / "faq.csv", tmp_path)
    typed(BUILD)
    clicks = [{"query": row["query"], "clicked": row["document"], "shown": ["1", "2", "99"]} for row in judged_rows()]
    write_lines(tmp_path / "clicks.jsonl", clicks)
    learnt = typed(
        "learn faq-index/ --qrels clicks.jsonl --recipe prior --depth 5 --form cosine --max-queries 9 --json "
        "--out learnt.safetensors"
    )
    report = json.loads(learnt.out)
    assert (report["queries"], report["chosen"].split()[0]) == (9, "prior")
    assert report["gain"]["queries"] == 9
    assert "than the zero-shot mix on 9 queries" in report["verdict"]
    assert learnt.err.count("1 of 9 judged documents are not in") == 1
    assert "such as '99', so no search can find them" in learnt.err
    write_lines(
        tmp_path / "asked.jsonl", [{"_id": f"q{at}", "text": row["query"]} for at, row in enumerate(judged_rows())]
    )
    (tmp_path / "judged.trec").write_text(
        "".join(f"q{at} 0 {row['document']} 1\n" for at, row in enumerate(judged_rows()))
    )
    found = json.loads(
        typed(
            "evaluate faq-index/ --qrels judged.trec --queries asked.jsonl --weights learnt.safetensors --form cosine "
            "--first-stage bm25 --depth 3 --save-runs runs --json"
        ).out
    )
    assert (found["queries"], found["left_out"]) == (3, 9)
    assert (found["settings"]["first_stage"], found["settings"]["depth"]) == ("bm25", 3)
    assert (tmp_path / "runs" / "learnt.trec").read_text().startswith("q")


def test_a_corpus_that_is_no_index_is_judged_by_the_same_file(typed: Type, tmp_path: Path) -> None:
    for name in ("faq.csv", "judged.csv"):
        shutil.copy(HERE / "faq" / name, tmp_path)
    out = typed("evaluate faq.csv --qrels judged.csv --weights uniform").out
    assert ": 12 queries, 8 documents" in out
    with pytest.warns(InputWarning):
        evaluation = evaluate("faq.csv", "mix", judgements="judged.csv")
    assert (evaluation.queries, evaluation.documents) == (12, 8)
    assert "wrote w.safetensors" in typed("learn faq.csv --qrels judged.csv --recipe prior --out w.safetensors").err
