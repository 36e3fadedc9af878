"""Mistakes that are cheap to find are reported before a model is loaded."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chamfer import Encoder, build_index
from chamfer.cli.app import main
from tests.conftest import DOCUMENTS, write_lines

ROWS: list[tuple[str, str]] = [
    ("search {index} ' '", "the query is empty"),
    ("search {index} cat --weights none.safetensors", "there is no weights file none.safetensors"),
    ("search {index} cat --weights heavy", "not 'heavy'"),
    ("search {index} cat --weights broken.safetensors", "is damaged or not a chamfer weights file"),
    ("search {index} cat --where 'year >'", "a filter needs a value"),
    ("search {index} cat --first-stage plaid", "first stages are"),
    ("search nowhere cat", "nowhere holds no index"),
    ("search {index} --queries none.jsonl", "there is no file none.jsonl"),
    ("explain {index} ' '", "the query is empty"),
    ("explain {index} cat --weights none.json", "there is no weights file none.json"),
    ("explain {index} cat --html {index}", "cannot write"),
    ("explain {index} cat nobody", "there is no document 'nobody'"),
    ("explain nowhere cat", "nowhere holds no index"),
    ("rerank nowhere", "nowhere is not a folder"),
    ("rerank {pets} --split train", "no split 'train'"),
    ("rerank {pets} --candidates none.trec", "there is no run file none.trec"),
    ("rerank {pets} --weights none.safetensors", "there is no weights file none.safetensors"),
    ("rerank {pets} --weights heavy", "not 'heavy'"),
    ("rerank {pets} --out {pets}", "cannot write"),
    ("rerank --corpus none.jsonl", "there is no file none.jsonl"),
    ("rerank --weights idf", "give one with --corpus"),
    ("weights idf none.jsonl --out w.safetensors", "there is no file none.jsonl"),
    ("weights idf empty.jsonl --out w.safetensors", "holds no documents"),
    ("weights idf {pets} --out w.json", "--out must end in .safetensors"),
    ("weights idf {pets} --out {pets}/corpus.jsonl/w.safetensors", "cannot write"),
    ("weights idf {pets} --special auto --validation train --out w.safetensors", "no split 'train'"),
    ("weights convert none.json w.txt", "there is no weights file none.json"),
    ("evaluate nowhere", "nowhere is not a folder"),
    ("evaluate {pets} --split train", "no split 'train'"),
    ("evaluate {pets} --weights none.safetensors", "there is no weights file none.safetensors"),
    ("evaluate {pets} --special auto --validation train", "no split 'train'"),
    ("evaluate {pets} --first-stage plaid", "first stages are"),
    ("evaluate {pets} --run none.trec", "there is no run file none.trec"),
    ("evaluate {pets} --save-runs {pets}/corpus.jsonl", "--save-runs needs a folder"),
    ("learn {pets} --out w.safetensors --qrels train", "no split 'train'"),
    ("learn {pets} --out w.safetensors --qrels test --recipe best", "not 'best'"),
    ("learn {pets} --out w.safetensors --qrels test --preset best", "not 'best'"),
    ("learn {pets} --out w.safetensors --plot w.gif", ".png, .svg, .pdf"),
    ("learn empty.jsonl --out w.safetensors", "is not a folder"),
    ("learn {index} --out w.safetensors", "is an index, so it needs one file of judgements, as in: --qrels judged.csv"),
    ("learn {index} --out w.safetensors --qrels a.csv --qrels b.csv", "needs one file of judgements"),
    ("learn {index} --out w.safetensors --qrels a.csv --test b.csv", "an index takes no --test, because"),
    ("learn {index} --out w.safetensors --qrels a.csv --encoder minilm", "it keeps the encoder that it was built with"),
    ("learn {index} --out w.safetensors --qrels a.csv --cache c", "an index takes no --cache, because its vectors"),
    ("learn {index} --out w.safetensors --qrels none.csv", "there is no file none.csv with judgements"),
    (
        "learn {index} --out w.safetensors --qrels rows.csv",
        "judgements have ids such as '7', documents have ids such as",
    ),
    ("evaluate {index}", "is an index, so it needs a file of judgements, as in: --qrels judged.csv"),
    ("evaluate {index} --qrels rows.csv", "judgements have ids such as '7', documents have ids such as 'd1'"),
    ("evaluate {index} --qrels rows.csv --run a.trec", "there is no run file a.trec"),
    (
        "evaluate {index} --qrels rows.csv --candidates rows.trec",
        "an index takes no --candidates, because it is searched",
    ),
    ("evaluate {index} --qrels rows.csv --split test", "give --qrels or --split, not both"),
    ("evaluate {index} --split test", "an index takes no --split, because its judged queries are given with --qrels"),
    ("evaluate {index} --qrels rows.csv --ray local", "an index takes no --ray"),
    ("evaluate {index} --qrels rows.csv --special auto", "an index takes no --special auto"),
    ("evaluate {pets} --queries none.jsonl", "--queries needs --qrels"),
    ("evaluate {pets} --qrels none.csv", "there is no file none.csv with judgements"),
    ("evaluate {pets}/corpus.jsonl --qrels rows.csv", "none of the 1 judged documents is in corpus.jsonl"),
    (
        "weights idf {index} --sample 0.5 --out w.safetensors",
        "an index takes no --sample, because all of its documents",
    ),
    ("weights idf {index} --encoder minilm --out w.safetensors", "an index takes no --encoder"),
    ("weights idf {index} --special auto --out w.safetensors", "--special auto needs a BEIR folder"),
    ("learn {pets} --out w.json", "--out must end in .safetensors"),
    ("encode none.jsonl", "there is no file none.jsonl"),
    ("encode empty.jsonl", "holds no documents"),
    ("index build {pets} --out {index}", "holds a finished index"),
    ("index build empty.jsonl --out new", "holds no documents"),
    ("index build {pets} --out {pets}", "is not empty, but holds no index; choose a new or an empty folder"),
    ("index build none.jsonl --out new", "there is no file none.jsonl"),
    ("index build {pets} --out {pets}/corpus.jsonl", "is a file, but an index is a folder"),
    ("index build {pets} --out new --first-stage plaid", "first stages are"),
    ("index add nowhere {pets}", "nowhere holds no index"),
    ("index add {index} empty.jsonl", "holds no documents"),
    ("demo --save {index}", "cannot write"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> Path:
    folder = tmp_path_factory.mktemp("checks") / "index"
    build_index(folder, DOCUMENTS, encoder)
    return folder


@pytest.mark.parametrize(("line", "sentence"), ROWS)
def test_a_mistake_is_reported_before_the_model_is_loaded(
    line: str,
    sentence: str,
    index: Path,
    collection_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def load(*_arguments: Any, **_settings: Any) -> None:
        pytest.fail("the model was loaded")

    monkeypatch.setattr(Encoder, "load", load)
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "empty.jsonl", [])
    (tmp_path / "broken.safetensors").write_bytes(b"broken")
    (tmp_path / "rows.csv").write_text("query,document\nwhy do cats sleep,7\n")
    (tmp_path / "rows.trec").write_text("q1 Q0 d1 1 1.0 x\n")
    words = [word.format(index=index, pets=collection_folder) for word in shlex.split(line)]
    monkeypatch.setattr(sys, "argv", ["chamfer", *words])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr().err
    assert left.value.code == 2, said
    assert sentence in said
    assert not (tmp_path / "new").exists()


def test_the_finished_index_is_found_before_the_corpus_is_read(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.jsonl").write_text(json.dumps({"_id": "1", "text": "a"}) + "\nbroken\n")
    monkeypatch.setattr(sys, "argv", ["chamfer", "index", "build", str(tmp_path / "broken.jsonl"), "--out", str(index)])
    with pytest.raises(SystemExit):
        main()
    assert "holds a finished index" in capsys.readouterr().err


def test_checks_of_a_learning_command_do_not_wait_for_torch(tmp_path: Path) -> None:
    script = """
import sys
from chamfer.cli.app import main
sys.modules["matplotlib"] = None
for extra in ([], ["--plot", "p.png"]):
    sys.argv = ["chamfer", "learn", "none.jsonl", "--out", "w.safetensors", *extra]
    try:
        main()
    except SystemExit:
        pass
sys.exit("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "torch was imported"
    assert "is not a folder" in done.stderr
    assert "plots need matplotlib" in done.stderr


def test_a_model_from_a_hub_is_announced(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, said in (("nobody/nothing", True), (str(tmp_path), False), ("minilm", False)):
        arguments = ["encode", "none.jsonl", "--encoder", name]
        monkeypatch.setattr(sys, "argv", ["chamfer", *arguments])
        with pytest.raises(SystemExit):
            main()
        assert ("loading the model nobody/nothing ..." in capsys.readouterr().err) == said
