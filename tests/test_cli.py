"""The command as a person runs it: what it prints where, its exit codes, what it leaves behind."""

import io
import json
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from chamfer import TokenWeights, __version__
from chamfer.cli import app as cli_app
from chamfer.cli import demo
from chamfer.cli.app import main
from chamfer.data import docstrings
from chamfer.errors import WorkerError
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.workers import ray_driver
from chamfer.workers.jobs import IN_PROCESS, Workers
from tests.conftest import DOCUMENTS, QUERIES, write_lines


class Done(NamedTuple):
    """What a run of the command left behind."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]

pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture
def command(tmp_path: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The arguments of a call, in a folder of its own, with the tiny encoder where one is needed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")

    def words(*arguments: str | Path) -> list[str]:
        given = [str(argument) for argument in arguments]
        encodes = given[0] in ("encode", "rerank", "evaluate", "learn") or given[:2] == ["weights", "idf"]
        return [*given, *(["--encoder", str(plain_checkpoint)] if encodes else [])]

    return words


@pytest.fixture
def run(command: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command inside this process, which saves loading torch each time."""

    def call(*arguments: str | Path, stdin: str = "") -> Done:
        monkeypatch.setattr(sys, "argv", ["chamfer", *command(*arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Done(int(left.value.code or 0), captured.out, captured.err)

    return call


def assert_refused(done: Done, sentence: str) -> None:
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    told = [line for line in done.stderr.splitlines() if not line.startswith("  ")]  # a filter may be shown below
    assert len(told) == 1, "one sentence"
    assert "Traceback" not in done.stderr


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == f"chamfer {__version__}\n"
    overview = run("--help").stdout
    for name in ("demo", "encode", "weights", "rerank", "evaluate"):
        assert name in overview
    for arguments in (["demo"], ["weights", "show"], ["weights", "convert"]):
        assert "Example: chamfer" in run(*arguments, "--help").stdout


def test_evaluate_prints_json_for_programs(run: Run, collection_folder: Path) -> None:
    done = run("evaluate", collection_folder, "--weights", "uniform", "--weights", "idf", "--json")
    report = json.loads(done.stdout)
    assert [system["name"] for system in report["systems"]] == ["bm25", "uniform", "idf"]
    assert {"nDCG@10", "R@10", "RR@10"} < set(report["systems"][0]["measures"])
    assert done.stderr == "", "a pipe sees no progress bar"


def test_evaluate_prints_a_table_for_people_and_runs_for_tools(
    run: Run, collection_folder: Path, tmp_path: Path
) -> None:
    done = run("evaluate", collection_folder, "--document-length", "5", "--save-runs", "runs")
    assert "idf-soft" in done.stdout
    assert "documents were truncated to 5 tokens" in done.stderr
    names = {path.name for path in (tmp_path / "runs").iterdir()}
    assert names == {"bm25.trec", "uniform.trec", "idf.trec", "idf-soft.trec", "mix.trec"}
    (tmp_path / "runs" / "idf.trec").rename(tmp_path / "runs" / "before.trec")
    again = run("evaluate", collection_folder, "--candidates", "runs/bm25.trec", "--run", "runs/before.trec", "--json")
    systems = {system["name"]: system["measures"] for system in json.loads(again.stdout)["systems"]}
    assert systems["candidates"]["R@100"] == systems["idf"]["R@100"]
    assert set(systems["before"]) == set(systems["idf"])


def test_evaluate_writes_a_report(run: Run, collection_folder: Path, tmp_path: Path) -> None:
    arguments = ("evaluate", collection_folder, "--weights", "uniform", "--weights", "idf", "--html")
    done = run(*arguments, "report.html")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "wrote report.html\n"
    assert "nDCG" in done.stdout
    report = (tmp_path / "report.html").read_text()
    assert "ranks relevant documents higher than uniform" in report or "rank relevant documents equally high" in report
    assert_refused(run(*arguments, collection_folder), f"cannot write {collection_folder}: it is a folder")
    below = collection_folder / "corpus.jsonl" / "report.html"
    refused = run(*arguments, below, "--save-runs", "runs")
    assert_refused(refused, f"cannot write {below}: {below.parent} is a file, not a folder")
    assert not (tmp_path / "runs").exists(), "before anything is evaluated"
    with full_disk():
        done = run(*arguments, "report.html")
    assert (done.returncode, "nDCG" in done.stdout) == (2, True), "what was measured is not lost"
    assert "error: File too large" in done.stderr
    assert (tmp_path / "report.html").read_text() == report


def test_evaluate_ablates_a_mix(run: Run, collection_folder: Path, tmp_path: Path) -> None:
    with (collection_folder / "queries.jsonl").open("a") as file:
        file.write('{"_id": "q4", "text": "zebra"}\n')
    with (collection_folder / "qrels" / "test.tsv").open("a") as file:
        file.write("q4\td1\t1\n")
    arguments = ("--weights", "uniform", "--weights", "mix", "--ablation", "--baseline", "mix", "--save-runs", "runs")
    done = run("evaluate", collection_folder, *arguments)
    systems = ["uniform", "mix", "mix without lexical", "mix without pooled", "mix, tokens only"]
    for name in systems:
        assert any(line.startswith(f"{name} ") for line in done.stdout.splitlines())
    assert "note: bm25 returns nothing for 1 of 5 queries" in done.stderr
    assert "note: mix" not in done.stderr, "its candidates are BM25's"
    assert {path.stem for path in (tmp_path / "runs").iterdir()} == {"bm25", *systems}


def test_encode_says_where_the_vectors_are(run: Run, collection_folder: Path) -> None:
    folder = Path(run("encode", collection_folder).stdout.strip())
    assert (folder / "manifest.json").exists()
    report = json.loads(run("encode", collection_folder / "corpus.jsonl", "--json").stdout)
    assert report["documents"] == len(DOCUMENTS)
    assert Path(report["folder"]) == folder, "the file and its folder are the same corpus"


def test_weights_are_made_shown_and_converted(run: Run, collection_folder: Path, tmp_path: Path) -> None:
    assert run("weights", "idf", collection_folder, "--soft", "--out", "soft.safetensors").returncode == 0
    made = TokenWeights.load(tmp_path / "soft.safetensors").metadata
    assert (made["recipe"], made["corpus"], made["documents"]) == ("idf-soft", "pets", len(DOCUMENTS))
    sampled = run("weights", "idf", collection_folder, "--sample", "0.9", "--out", "idf.safetensors", "--json")
    assert json.loads(sampled.stdout)["made"]["sample"] == 0.9
    assert "heaviest" in run("weights", "show", "soft.safetensors").stdout
    assert "[MASK] 1.000" in run("weights", "show", "soft.safetensors").stdout
    shown = json.loads(run("weights", "show", "soft.safetensors", "--top", "2", "--json").stdout)
    assert len(shown["heaviest"]) == len(shown["lightest"]) == 2
    assert shown["special"]["[MASK]"] == 1
    assert run("weights", "idf", collection_folder, "--mix", "--out", "mix.safetensors").returncode == 0
    assert "evidence: lexical 0.012, pooled 0.4" in run("weights", "show", "mix.safetensors").stdout
    assert_refused(run("weights", "convert", "mix.safetensors", "mix.json"), "save them as .safetensors")
    assert run("weights", "convert", "soft.safetensors", "idf.json").returncode == 0
    assert len(json.loads((tmp_path / "idf.json").read_text())) == shown["tokens"]


def test_convert_says_what_the_exchange_formats_cannot_hold(run: Run, tmp_path: Path) -> None:
    words = Vocabulary(("the", "cat"), frozenset())
    made = {"recipe": "prior", "form": "l2", "encoder": "minilm"}
    TokenWeights.uniform(words, made_from=made).save(tmp_path / "learnt.safetensors")
    for name in ("w.json", "w.txt"):
        done = run("weights", "convert", "learnt.safetensors", name)
        assert f"note: {name} does not record the form that these weights were learnt for, 'l2'" in done.stderr
    assert "note" not in run("weights", "convert", "learnt.safetensors", "again.safetensors").stderr


def test_special_tokens_can_be_chosen_on_a_split(run: Run, collection_folder: Path, tmp_path: Path) -> None:
    done = run(
        "weights", "idf", collection_folder, "--special", "auto", "--validation", "dev", "--out", "w.safetensors"
    )
    assert done.returncode == 0, done.stderr
    assert TokenWeights.load(tmp_path / "w.safetensors").metadata["special"] in (0, 1)
    assert "chosen on dev" in done.stderr


def test_rerank_reads_json_lines(run: Run) -> None:
    lines = [
        {"query": "dog", "documents": ["blue sky", "the dog"]},
        {"id": "named", "query": "cats", "documents": [{"id": "x", "text": "cats"}, {"id": "y", "text": "a mat"}]},
    ]
    done = run("rerank", "-k", "1", stdin="\n".join(json.dumps(line) for line in lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == ["1", "named"]
    assert [len(answer["ranking"]) for answer in answers] == [1, 1]
    assert set(answers[1]["ranking"][0]) == {"id", "score"}
    assert answers[0]["truncated"] == 0


def test_equal_documents_score_equally_and_keep_their_order(run: Run) -> None:
    for text in ("dog", "the cat sat on a mat"):
        line = json.dumps({"query": "the dog", "documents": ["it is a dog", text, text, text]})
        ranking = json.loads(run("rerank", stdin=line).stdout)["ranking"]
        equal = [entry for entry in ranking if entry["id"] != "0"]
        assert [entry["id"] for entry in equal] == ["1", "2", "3"]
        assert len({entry["score"] for entry in equal}) == 1
    same = json.loads(run("rerank", stdin=json.dumps({"query": "dog", "documents": ["dog"]})).stdout)
    assert same["ranking"][0]["score"] == pytest.approx(1, abs=1e-6)


def test_rerank_keeps_documents_without_text_on_request(run: Run) -> None:
    line = json.dumps({"query": "dog", "documents": ["", "the dog"]})
    answer = json.loads(run("rerank", "--allow-empty", stdin=line).stdout)
    assert answer["ranking"][1] == {"id": "0", "score": 0}


def test_rerank_counts_idf_over_a_corpus(run: Run, collection_folder: Path) -> None:
    line = json.dumps({"query": "the dog", "documents": ["the the", "dog"]})
    assert run("rerank", "--corpus", collection_folder, stdin=line).returncode == 0
    assert_refused(run("rerank", "--weights", "idf", stdin=line), "give one with --corpus")


def test_rerank_connects_to_ray_once_to_count_and_to_rank(
    run: Run, collection_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections: list[str] = []

    @contextmanager
    def connect(address: str) -> Iterator[Workers]:
        connections.append(address)
        yield IN_PROCESS

    monkeypatch.setattr(ray_driver, "ray_workers", connect)
    line = json.dumps({"query": "the dog", "documents": ["the the", "dog"]})
    done = [run("rerank", "--corpus", collection_folder, *given, stdin=line) for given in (["--ray", "local"], [])]
    assert connections == ["local"]
    assert done[0].returncode == 0, done[0].stderr
    assert done[0].stdout == done[1].stdout


def test_rerank_writes_a_run_for_a_folder(run: Run, collection_folder: Path, tmp_path: Path) -> None:
    printed = run("rerank", collection_folder, "--weights", "uniform").stdout
    assert {line.split()[0] for line in printed.splitlines()} == set(QUERIES)
    answers = run("rerank", collection_folder, "--weights", "uniform", "--json").stdout
    assert {json.loads(line)["id"] for line in answers.splitlines()} == set(QUERIES)
    done = run("rerank", collection_folder, "--weights", "uniform", "--split", "dev", "-k", "1", "--out", "run.trec")
    assert "wrote run.trec" in done.stderr
    with (collection_folder / "queries.jsonl").open("a") as file:
        file.write(json.dumps({"_id": "q9", "text": "unheard"}) + "\n")
    done = run("rerank", collection_folder, "--document-length", "5")
    assert "1 of 5 queries have no candidates" in done.stderr
    assert "documents were truncated to 5 tokens" in done.stderr
    assert len((tmp_path / "run.trec").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "stdin, line 1: not a JSON object"),
        ('{"documents": ["a"]}', "'query' must be a string"),
        ('{"query": " ", "documents": ["a"]}', "'query' must be a string"),
        ('{"query": "a"}', "'documents' must be a list"),
        ('{"id": null, "query": "a", "documents": ["a"]}', "'id' must be a string or an integer"),
        ('{"query": "\\ud800", "documents": ["a"]}', "not a JSON object"),
        ('{"query": "a", "documents": []}', "'documents' must be a list"),
        ('{"query": "a", "documents": ["a", 7]}', "document 2 must be a string"),
        ('{"query": "a", "documents": ["a", ""]}', "document '1' has no text"),
        ('{"query": "a", "documents": [{"id": "x", "text": "a"}, {"id": "x", "text": "b"}]}', "'x' is used twice"),
    ],
)
def test_lines_that_cannot_be_used_end_in_one_sentence(run: Run, line: str, sentence: str) -> None:
    good = json.dumps({"query": "dog", "documents": ["cat"]})
    done = run("rerank", stdin=f"{line}\n{good}\n")
    assert_refused(done, sentence)
    assert "stdin, line 1" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["evaluate", "nowhere"], "nowhere is not a folder"),
        (["evaluate", "{pets}", "--split", "train"], "no split 'train'"),
        (["evaluate", "{pets}", "--weights", "heavy"], "not 'heavy'"),
        (["evaluate", "{pets}", "--weights", "none.safetensors"], "there is no weights file none.safetensors"),
        (["evaluate", "{pets}", "--special", "2"], "--special must be 0, 1 or auto"),
        (["evaluate", "{pets}", "--query-length", "900"], "between 4 and 64"),
        (["evaluate", "{pets}", "--candidates", "none.trec"], "there is no run file none.trec"),
        (["encode", "nowhere.jsonl"], "there is no file nowhere.jsonl"),
        (["weights", "idf", "{pets}", "--out", "w.json"], "--out must end in .safetensors"),
        (["weights", "show", "none.safetensors"], "there is no weights file"),
        (["weights", "convert", "a.safetensors", "b.csv"], "end in .safetensors, .json, .txt"),
        (
            ["weights", "idf", "{pets}", "--out", "w.safetensors", "--soft", "--special", "0"],
            "--special is for plain",
        ),
        (["weights", "idf", "{pets}", "--out", "w.safetensors", "--power", "1"], "--power needs --soft"),
        (
            ["weights", "idf", "{pets}/corpus.jsonl", "--out", "w.safetensors", "--special", "auto"],
            "needs a BEIR folder",
        ),
        (["learn", "{pets}", "--out", "w.safetensors", "--qrels", "train"], "no split 'train'"),
        (["learn", "{pets}", "--out", "w.safetensors", "--validation", "dev"], "has no train or dev split"),
        (["learn", "{pets}", "--out", "w.safetensors", "--qrels", "none.tsv"], "there is no qrels file none.tsv"),
        (["learn", "{pets}", "--out", "{pets}/corpus.jsonl/w.safetensors"], "cannot write"),
        (
            ["learn", "{pets}/corpus.jsonl", "--out", "w.safetensors"],
            "another corpus needs a file of judgements (--qrels FILE)",
        ),
        (["learn", "{pets}", "--out", "w.safetensors", "--plot", "w.gif"], "saved as .png, .svg, .pdf"),
        (
            ["learn", "{pets}", "--out", "w.safetensors", "--test", "test", "--hold-out", "0.5"],
            "give either a test split (--test) or hold_out (--hold-out), not both",
        ),
        (["learn", "{pets}", "--out", "w.json"], "--out must end in .safetensors"),
        (
            ["learn", "{pets}", "--out", "w.safetensors", "--qrels", "test", "--preset", "x"],
            "a preset is one of arguana",
        ),
        (
            ["learn", "{pets}", "--out", "w.safetensors", "--qrels", "dev", "--validation", "dev"],
            "cannot be both a split to learn from and the validation split",
        ),
        (["rerank", "--out", "x.trec"], "--out needs a BEIR folder"),
        (["rerank", "--depth", "3"], "--depth needs a BEIR folder"),
        (["rerank", "{pets}", "--corpus", "{pets}"], "--corpus is for requests from stdin"),
    ],
)
def test_misuse_ends_in_one_sentence(run: Run, collection_folder: Path, arguments: list[str], sentence: str) -> None:
    assert_refused(run(*(part.format(pets=collection_folder) for part in arguments)), sentence)


def test_a_failed_worker_ends_in_one_sentence_but_is_no_misuse(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise WorkerError("a Ray worker failed; check the cluster")

    monkeypatch.setattr(cli_app, "app", fails)
    assert run("evaluate") == Done(1, "", "error: a Ray worker failed; check the cluster\n")


def test_weights_of_another_tokenizer_are_refused(run: Run, collection_folder: Path, tmp_path: Path) -> None:
    TokenWeights.uniform(Vocabulary(("a",), frozenset())).save(tmp_path / "foreign.safetensors")
    assert_refused(run("evaluate", collection_folder, "--weights", "foreign.safetensors"), "another tokenizer")


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may grow beyond 100 bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("what", ["evaluate", "weights", "encode"])
def test_a_full_disk_ends_in_one_sentence_and_leaves_nothing_half_written(
    run: Run, collection_folder: Path, tmp_path: Path, what: str
) -> None:
    calls: dict[str, list[str | Path]] = {
        "evaluate": ["evaluate", collection_folder, "--weights", "uniform", "--save-runs", "runs"],
        "weights": ["weights", "idf", collection_folder, "--out", "w.safetensors"],
        "encode": ["encode", collection_folder],
    }
    arguments = calls[what]
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with full_disk():
        done = run(*arguments)
    assert_refused(done, "error: File too large")
    left = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert not any(path.suffix in (".trec", ".safetensors") or path.name.startswith(".w") for path in left)
    assert run(*arguments).returncode == 0, "with space again, the same command works"


def test_learn_writes_weights_that_evaluate_takes(run: Run, collection_folder: Path, tmp_path: Path) -> None:
    arguments = ["learn", collection_folder, "--qrels", "test", "--folds", "2", "--out", "learnt.safetensors"]
    report = json.loads(run(*arguments, "--json").stdout)
    assert report["chosen"] in [row["name"] for row in report["candidates"]]
    assert report["left_out"]["without_negatives"] == ["q2", "q3"]
    assert report["held_out"] is None
    done = run(*arguments, "--recipe", "prior")
    assert "parentheses list hyper-parameters: prior (prior, token penalty)\nchosen: prior" in done.stdout
    assert (
        "2 judged queries are left out because they have only relevant candidates, and so no negatives (q2, q3)"
        in done.stderr
    )
    assert "wrote learnt.safetensors" in done.stderr
    assert TokenWeights.load(tmp_path / "learnt.safetensors").metadata["recipe"] == "prior"
    done = run("evaluate", collection_folder, "--weights", "uniform", "--weights", "learnt.safetensors")
    assert "learnt" in done.stdout


def test_learn_measures_on_other_queries_and_tells_how_many_are_enough(run: Run, tmp_path: Path) -> None:
    """A corpus, queries and judgements from three places, the judgements as TREC writes them."""
    things = ["cat", "dog", "sky", "night", "day", "mat"]
    documents = [{"_id": f"{one}-{other}", "text": f"the {one} and a {other}"} for one in things for other in things]
    write_lines(tmp_path / "notes.jsonl", documents)
    asked = [(one, other) for one in things for other in things[:2]]
    write_lines(
        tmp_path / "asked.jsonl", [{"_id": f"{one}+{other}", "text": f"why {one} {other}"} for one, other in asked]
    )
    (tmp_path / "judged.txt").write_text("".join(f"{one}+{other} 0 {one}-{other} 1\n" for one, other in asked))
    given = ["learn", "notes.jsonl", "--queries", "asked.jsonl", "--qrels", "./judged.txt", "--out", "w.safetensors"]
    more = ["--hold-out", "0.25", "--curve", "--plot", "report.svg"]
    done = run(*given, *more)
    assert done.returncode == 0, done.stderr
    assert "on 3 test queries, nDCG@10" in done.stdout
    assert "test queries and those learnt from share no query text and no relevant document" in done.stdout
    assert "0 (zero-shot mix)" in done.stdout
    assert "Theorem 1: lambda_min(A)" in done.stdout
    assert "<svg" in (tmp_path / "report.svg").read_text()
    report = json.loads(run(*given, *more, "--json").stdout)
    assert report["held_out"]["queries"] == 3
    assert report["queries"] == 9
    assert [point["queries"] for point in report["curve"]] == [0, 6]
    assert report["theory"]["pairs"] > 0


def test_weights_serve_only_the_form_they_were_learnt_for(run: Run, collection_folder: Path) -> None:
    learn = ["learn", collection_folder, "--qrels", "test", "--folds", "2", "--recipe", "prior"]
    assert run(*learn, "--form", "cosine", "--out", "w.safetensors").returncode == 0
    for command in (["rerank", collection_folder, "--out", "run.trec"], ["evaluate", collection_folder]):
        assert run(*command, "--weights", "w.safetensors", "--form", "cosine").returncode == 0
        assert_refused(run(*command, "--weights", "w.safetensors"), "learnt for the form 'cosine', not 'l2'")


def test_saved_runs_never_replace_what_was_read(run: Run, collection_folder: Path, tmp_path: Path) -> None:
    run("evaluate", collection_folder, "--weights", "uniform", "--save-runs", "runs")
    for name in ("candidates", "mine"):
        (tmp_path / "runs" / f"{name}.trec").write_bytes((tmp_path / "runs" / "bm25.trec").read_bytes())
    before = (tmp_path / "runs" / "bm25.trec").read_bytes()
    given = ["--candidates", "runs/candidates.trec", "--run", "runs/mine.trec"]
    done = run("evaluate", collection_folder, *given, "--depth", "1", "--save-runs", "runs")
    assert done.returncode == 0, done.stderr
    assert {(tmp_path / "runs" / f"{name}.trec").read_bytes() for name in ("candidates", "mine", "bm25")} == {before}


def test_a_reader_that_leaves_early_is_no_error_worth_a_traceback(command: Callable[..., list[str]]) -> None:
    line = json.dumps({"query": "dog", "documents": ["cat"]})
    chamfer = shlex.join([sys.executable, "-m", "chamfer.cli.app", *command("rerank")])
    done = subprocess.run(
        ["bash", "-c", f"yes '{line}' | head -100 | {chamfer} | head -1"], capture_output=True, text=True
    )
    assert json.loads(done.stdout)["id"] == "1"
    assert "Traceback" not in done.stderr


def test_the_demo_compares_answers_and_draws_a_picture(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module_name = docstrings._module_name  # of a part of the library only: all of it takes ten seconds to parse
    monkeypatch.setattr(docstrings, "_module_name", lambda path: module_name(path) if path.stem < "d" else None)
    monkeypatch.setattr(demo, "raised_by_weights", lambda cases: cases[:1])
    monkeypatch.setattr(demo, "raised_by_mix", lambda cases: cases[1:2])
    monkeypatch.setattr(demo, "lowered_by_mix", lambda _: [])
    done = run("demo", "--max-documents", "40", "--save", "demo.svg")
    assert done.returncode == 0, done.stderr
    by_weights, by_mix, everything = re.split("The mix moves it up|All queries", done.stdout)
    assert "Token weights move the right answer up" in by_weights
    assert "What it cannot do" not in done.stdout, "a heading without a query is left out"
    for part, after in ((by_weights, "idf-soft"), (by_mix, "mix")):
        assert re.search(rf"^uniform +{after} *$", part, re.MULTILINE)
        [(answer, *ranks)] = re.findall(
            r"right answer: (\S+), rank (\d+) with uniform\sweights, (\d+) with\sidf-soft, (\d+)\swith\smix",
            " ".join(part.split()),
        )
        rank = {"uniform": int(ranks[0]), "idf-soft": int(ranks[1]), "mix": int(ranks[2])}
        shown = (rank["uniform"] <= 3) + (rank[after] <= 3)
        assert part.count(f"✓ {answer[:20]}") == shown, "it is marked wherever it is shown"
    assert {"bm25", "uniform", "idf", "idf-soft", "mix"} <= {line.partition(" ")[0] for line in everything.splitlines()}
    assert "chamfer index build YOUR-FILE" in everything
    assert json.loads(run("demo", "--max-documents", "40", "--json").stdout)["dataset"] == "stdlib-docstrings"
    picture = (tmp_path / "demo.svg").read_text()
    assert picture.startswith("<svg")
    assert "url(http" not in picture


def test_a_device_that_is_not_there_is_refused(
    run: Run, collection_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAMFER_DEVICE", "auto")  # which the command changes
    assert_refused(
        run("--device", "gpu", "encode", collection_folder), "error: unknown device 'gpu'; use auto, cpu or cuda"
    )
