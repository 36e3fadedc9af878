"""``chamfer explain`` and what ``chamfer serve`` says before it serves."""

import json
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from chamfer import Encoder, InputError, Searcher, build_index
from chamfer.cli.app import app
from tests.checkpoints import count_tokenized
from tests.conftest import DOCUMENTS

QUERY = "why do cats sleep"


@pytest.fixture
def index(plain_checkpoint: Path, tmp_path: Path) -> Path:
    build_index(tmp_path / "index", DOCUMENTS, Encoder.load(str(plain_checkpoint)))
    return tmp_path / "index"


def test_the_best_two_are_taken_apart_and_compared(index: Path) -> None:
    answer = CliRunner().invoke(app, ["explain", str(index), QUERY], catch_exceptions=False)
    first, second = Searcher.open(index).search(QUERY, k=2)
    assert f"{first.id}  score {first.score:.4f}" in answer.stdout
    assert f"{first.id} beats {second.id} by {first.score - second.score:.4f} because:" in answer.stdout
    assert "of it from special tokens; with uniform weights" in answer.stdout


def test_programs_get_everything(index: Path) -> None:
    answer = CliRunner().invoke(app, ["explain", str(index), QUERY, "d1", "d4", "--json"], catch_exceptions=False)
    found = json.loads(answer.stdout)
    one, other = found["documents"]
    assert (one["id"], other["id"]) == ("d1", "d4")
    parts = [*one["matches"], *one["evidence"]]
    assert sum(part["contribution"] for part in parts) == pytest.approx(one["score"])
    assert sum(word["gain"] for word in found["above"]["because"]) == pytest.approx(abs(one["score"] - other["score"]))
    uniform = Searcher.open(index).explain(QUERY, ["d1"], weights="uniform")[0]
    assert sum(word["other"] for word in one["against_uniform"]) == pytest.approx(uniform.score)


@pytest.mark.parametrize("ids", [[], ["d1", "d4"]])
def test_the_query_is_tokenised_once(index: Path, ids: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen, long = count_tokenized(monkeypatch), "why do cats sleep " * 40
    answer = CliRunner().invoke(app, ["explain", str(index), long, *ids], catch_exceptions=False)
    assert "1 of 1 queries were truncated to 64 tokens" in answer.stderr
    assert seen.count(long) == 1
    assert all(seen.count(text) <= 1 for text in DOCUMENTS.values())


def test_a_page_for_a_browser(index: Path, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    arguments = ["explain", str(index), "<b>cats</b>", "d4", "--html", str(page)]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    assert page.read_text().startswith("<!doctype html>")
    assert "<title>&lt;b&gt;cats&lt;/b&gt;</title>" in page.read_text()


def test_what_is_not_there_is_told(index: Path, tmp_path: Path) -> None:
    for arguments, told in (
        (["explain", str(index), QUERY, "nothing"], "no document 'nothing'"),
        (["explain", str(tmp_path / "none"), QUERY], "holds no index"),
        (["serve", str(tmp_path / "none")], "holds no index"),
    ):
        answer = CliRunner().invoke(app, arguments)
        assert isinstance(answer.exception, InputError)
        assert told in str(answer.exception)


def test_a_folder_of_versions_and_other_weights_contradict_each_other(index: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")
    (tmp_path / "versions.json").write_text("{}")
    answer = CliRunner().invoke(app, ["serve", str(index), "--weights", "idf", "--versions", str(tmp_path)])
    assert "already holds versions of weights" in str(answer.exception)


def test_a_server_that_cannot_start_says_so_before_it_loads_a_model(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = pytest.importorskip("chamfer.serve.running", reason="the extra chamfer[serve] is not installed")
    monkeypatch.setattr("chamfer.search.searcher.load_encoder", lambda *_: pytest.fail("a model was loaded"))
    with running.listen("127.0.0.1", 0) as taken:
        for arguments, told in (
            ([str(index), "--port", str(taken.getsockname()[1])], "choose another --host or --port"),
            ([str(index), "--weights", str(tmp_path / "none.safetensors")], "none.safetensors"),
            ([str(index), "--weights", "heavy"], "not 'heavy'"),
            ([str(index), "--first-stage", "plaid"], "plaid"),
            ([str(index), "--allow-host", "http://search.example"], "not a host name"),
            ([str(tmp_path)], "holds no index"),
            ([str(index), "--ray", "local"], "holds no shards"),
            ([str(index), "--writable"], "--writable needs an API key, so that not everybody can change documents"),
        ):
            answer = CliRunner().invoke(app, ["serve", *arguments])
            assert isinstance(answer.exception, InputError), arguments
            assert told in str(answer.exception)


def test_a_server_refuses_to_start_with_damaged_files_if_it_is_to_verify_them(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("chamfer.serve.running", reason="the extra chamfer[serve] is not installed")
    monkeypatch.setattr("chamfer.index.soundness.SMALL_INDEX", 0)
    monkeypatch.setattr("chamfer.search.searcher.load_encoder", lambda *_: pytest.fail("a model was loaded"))
    copy = Path(shutil.copytree(index, tmp_path / "copy"))
    [vectors] = copy.glob("segments/*/vectors.f16")
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"?")
    answer = CliRunner().invoke(app, ["serve", str(copy), "--verify", "--port", "0"])
    assert isinstance(answer.exception, InputError)
    assert "vectors.f16 is damaged: checksum mismatch" in str(answer.exception)


class _Missing(ModuleType):
    """A module that cannot be had."""

    def __init__(self, error: ModuleNotFoundError) -> None:
        super().__init__("chamfer.serve.app")
        self._error = error

    def __getattr__(self, name: str) -> object:
        raise self._error


def test_a_missing_server_library_is_named_with_its_extra(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = ModuleNotFoundError("No module named 'fastapi'", name="fastapi")
    monkeypatch.setitem(sys.modules, "chamfer.serve.app", _Missing(hidden))
    answer = CliRunner().invoke(app, ["serve", str(index)])
    assert "pip install 'chamfer[serve]'" in str(answer.exception)


def test_a_mix_shows_what_evidence_beside_the_words_brought(index: Path, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    asked = ["explain", str(index), QUERY, "--weights", "mix"]
    shown = CliRunner().invoke(app, [*asked, "--html", str(page)], catch_exceptions=False).stdout
    assert shown.count("lexical evidence") == shown.count("pooled evidence") == 3, (
        "in two tables, and in the comparison"
    )
    assert page.read_text().count("pooled evidence") == 3
    found = json.loads(CliRunner().invoke(app, [*asked, "--json"], catch_exceptions=False).stdout)
    for one in found["documents"]:
        contributions = [part["contribution"] for part in (*one["matches"], *one["evidence"])]
        assert sum(contributions) == pytest.approx(one["score"])
    assert {one["text"] for one in found["above"]["because"] if one["is_evidence"]} == {"lexical", "pooled"}


def test_texts_are_ranked_like_documents_of_an_index(index: Path) -> None:
    line = json.dumps({"id": "q", "query": QUERY, "documents": [*DOCUMENTS.values()]})
    asked = ["rerank", "--index", str(index), "--weights", "mix", "-k", "3"]
    answer = CliRunner().invoke(app, asked, input=line, catch_exceptions=False)
    ranked = json.loads(answer.stdout)
    hits = Searcher.open(index, weights="mix").search(QUERY, 3)
    assert ranked["id"] == "q"
    assert ranked["truncated"] == 0
    assert [list(DOCUMENTS)[int(one["id"])] for one in ranked["ranking"]] == [hit.id for hit in hits]
    assert [one["score"] for one in ranked["ranking"]] == pytest.approx([hit.score for hit in hits], abs=2e-3)
    with pytest.raises(InputError, match="leave out --corpus"):
        CliRunner().invoke(app, [*asked, "--corpus", str(index)], input=line, catch_exceptions=False)
