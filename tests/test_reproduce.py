"""The whole protocol, end to end, on twelve documents and a checkpoint of random numbers."""

import json
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from chamfer import InputError, TokenWeights
from chamfer.cli.app import app
from chamfer.data.collection import load_collection
from chamfer.data.queries import words_of
from chamfer.data.ranking import Ranking
from chamfer.data.runs import read_run
from chamfer.evaluate.setup import Setup
from chamfer.learn import adapter
from chamfer.learn.fit import fit_weights
from chamfer.learn.presets import PRESETS, Preset
from chamfer.reproduce import protocol
from chamfer.reproduce import run as running
from chamfer.reproduce.capped_recall import measure_all
from chamfer.reproduce.datasets import DATASETS, dataset_named
from chamfer.reproduce.paper import SETTINGS
from chamfer.reproduce.plot import plot_gains
from chamfer.reproduce.protocol import reproduce_dataset
from chamfer.reproduce.report import notes, report, results_apart
from chamfer.reproduce.saved_splits import ROLES, draw_splits, load_splits
from chamfer.reproduce.systems import APART, CHAMFER, FEW_SHOT, FEW_SHOT_PAPER, OWN_KEPT, SYSTEMS
from chamfer.reproduce.tables import as_latex, as_markdown
from chamfer.retrieve.stages import BM25
from chamfer.weights.zero_shot import MIX
from tests import checkpoints, problems
from tests.checkpoints import WORDS

pytestmark = pytest.mark.usefixtures("few_steps")


def write_tiny(folder: Path, *, queries: int = 12, splits: tuple[str, ...] = ("test",), seed: int = 0) -> Path:
    """Twelve documents of random words, and queries of words that one of them has."""
    generator = np.random.default_rng(seed)
    documents = {f"{folder.name}{place:02}": " ".join(generator.choice(WORDS, 9)) for place in range(12)}
    names = list(documents)
    folder.mkdir(parents=True)
    lines = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in documents.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    asked, judged = [], {split: ["query-id\tcorpus-id\tscore"] for split in splits}
    for place in range(queries * len(splits)):
        wanted = names[place % len(names)]
        text = " ".join(generator.permutation(documents[wanted].split())[:4])
        asked.append(json.dumps({"_id": f"q{place:02}", "text": text}))
        judged[splits[place % len(splits)]].append(f"q{place:02}\t{wanted}\t1")
    (folder / "queries.jsonl").write_text("\n".join(asked) + "\n")
    (folder / "qrels").mkdir()
    for split, rows in judged.items():
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stanford")
    checkpoints.make_stanford(folder, query_length=12, document_length=14)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections: one of the paper's names with test queries alone, another with all three splits."""
    folder = tmp_path_factory.mktemp("data")
    write_tiny(folder / "scifact")
    write_tiny(folder / "pets", queries=6, splits=("train", "dev", "test"), seed=1)
    return folder


def command(data: Path, checkpoint: Path, out: Path, *more: str) -> list[str]:
    lengths = ["--query-length", "12", "--document-length", "14"]
    where = ["--data", str(data), "--out", str(out), "--cache", str(out.parent / "cache")]
    return ["reproduce", "scifact", "pets", "--encoder", str(checkpoint), *lengths, *where, *more]


@pytest.fixture(scope="module")
def finished(data: Path, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of both collections in both settings, without a network."""
    out = tmp_path_factory.mktemp("finished") / "run"

    def refuse(*_: object) -> None:
        raise AssertionError("there is no network")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        files = {kind: out.parent / f"tables.{kind}" for kind in ("md", "tex", "svg")}
        wanted = ["--markdown", str(files["md"]), "--latex", str(files["tex"]), "--plot", str(files["svg"])]
        answer = CliRunner().invoke(app, command(data, checkpoint, out, *wanted), catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    assert "R@10, re-ranking BM25's candidates" in answer.output
    assert "nDCG@10, end to end, without BM25" in answer.output
    assert all(path.stat().st_size > 0 for path in files.values())
    return out


KILLED_HALFWAY = """
import os, signal
from chamfer.cli.app import main
from chamfer.learn import adapter
from chamfer.reproduce import protocol

adapter.STEPS = {steps}

write_run, written = protocol.write_run, []

def write_some(path, *arguments, **named):
    if len(written) == 8:  # the first result has six rankings, so this is within the second of four
        os.kill(os.getpid(), signal.SIGKILL)
    written.append(path)
    write_run(path, *arguments, **named)

protocol.write_run = write_some
main()
"""


def figures(out: Path) -> dict[tuple[str, str], Any]:
    """What does not depend on when and where a run was made."""
    return {
        (one["dataset"], one["setting"]): {key: one[key] for key in ("systems", "chosen", "queries")}
        for one in running.read_results(out)
    }


class TestRun:
    def test_the_folder_holds_splits_weights_rankings_and_figures(self, finished: Path, data: Path) -> None:
        for name, setting in (("scifact", "rerank"), ("pets", "end-to-end")):
            folder = finished / name / setting
            result = json.loads((folder / "result.json").read_text())
            assert set(result["systems"]) == {*SYSTEMS, *([BM25] if setting == "rerank" else [])}
            assert result["environment"]["chamfer"]
            for system in SYSTEMS:
                TokenWeights.load(folder / f"{system}.safetensors")
                rankings = read_run(folder / f"{system}.trec")
                roles = json.loads((finished / name / "splits.json").read_text())["queries"]
                assert {ranking.query_id for ranking in rankings} <= set(roles["test"])
                judgements = load_collection(data / name).judgements["test"]
                measured = measure_all(rankings, {query: judgements[query] for query in roles["test"]})
                for measure, value in result["systems"][system]["measures"].items():
                    assert value == pytest.approx(measured[measure].mean(), abs=1e-6), (
                        "a run file gives the same figures"
                    )

    def test_end_to_end_looks_at_every_document(self, finished: Path) -> None:
        rankings = read_run(finished / "scifact" / "end-to-end" / f"{CHAMFER}.trec")
        assert all(len(ranking) == 12 for ranking in rankings)

    def test_little_to_learn_from_leaves_few_shot_close_to_the_zero_shot_mix(self, finished: Path) -> None:
        for one in running.read_results(finished):
            assert one["chosen"][FEW_SHOT] == "blend"
            weights = TokenWeights.load(finished / one["dataset"] / one["setting"] / f"{FEW_SHOT}.safetensors")
            first = weights.metadata["members"][0]
            assert (first["recipe"], "penalty" in first) == ("mix", False), "what is used without labels"
            assert first["share"] > 0.3

    def test_a_second_run_encodes_nothing_and_finds_the_same(
        self, finished: Path, data: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        again = finished.parent / "again"
        monkeypatch.setattr("chamfer.encode.encoder.Encoder.encode", lambda *_: pytest.fail("encoded again"))
        answer = CliRunner().invoke(app, command(data, checkpoint, again), catch_exceptions=False)
        assert answer.exit_code == 0
        assert figures(again) == figures(finished)

    def test_tables_are_drawn_again_without_data_or_model(self, finished: Path) -> None:
        some = CliRunner().invoke(app, ["reproduce", "pets/", "--out", str(finished), "--only-report", "--json"])
        assert {row["dataset"] for row in json.loads(some.stdout)["tables"][0]["rows"]} == {"pets"}
        answer = CliRunner().invoke(app, ["reproduce", "--out", str(finished), "--only-report", "--json"])
        assert answer.exit_code == 0, answer.output
        told = json.loads(answer.stdout)
        assert len(told["tables"]) == 16
        assert {row["dataset"] for row in told["tables"][0]["rows"]} == {"scifact", "pets"}
        assert told["tables"][0]["rows"][0]["systems"]["chamfer"]["printed"] == 0.8136

    def test_results_of_earlier_versions_can_be_read(self, finished: Path, tmp_path: Path) -> None:
        shutil.copytree(finished, tmp_path / "run")
        for path in (tmp_path / "run").glob("*/*/result.json"):
            old = json.loads(path.read_text())
            del old[APART], old["resampled"]
            path.write_text(json.dumps(old))
        told = [
            json.loads(CliRunner().invoke(app, ["reproduce", "--out", str(out), "--only-report", "--json"]).stdout)
            for out in (finished, tmp_path / "run")
        ]
        assert told[0]["tables"] == told[1]["tables"]
        assert results_apart(running.read_results(tmp_path / "run")) == []
        units = [[note for note in one["notes"] if note.startswith("Tests and intervals")] for one in told]
        assert [len(one) for one in units] == [1, 0], "they do not say what was resampled"

    def test_queries_with_a_relevant_document_in_common_are_one_unit(self, finished: Path) -> None:
        for one in running.read_results(finished):
            assert one["resampled"] == {"by": "document", "groups": {"scifact": 6, "pets": 4}[one["dataset"]]}
            assert one["queries"]["test"] == 6


class TestInterruptions:
    def test_a_finished_folder_is_not_written_by_accident(self, finished: Path, data: Path, checkpoint: Path) -> None:
        answer = CliRunner().invoke(app, command(data, checkpoint, finished))
        assert isinstance(answer.exception, InputError)
        assert "continue it with --resume" in str(answer.exception)

    def test_another_model_or_seed_does_not_mix_with_a_run(self, finished: Path, data: Path, checkpoint: Path) -> None:
        for other in (["--seed", "1"], ["--document-length", "13"]):
            answer = CliRunner().invoke(app, command(data, checkpoint, finished, "--resume", *other))
            assert "choose another --out" in str(answer.exception)

    def test_a_crash_keeps_what_was_done_and_resume_goes_on(
        self, finished: Path, data: Path, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out, real = tmp_path / "run", reproduce_dataset
        done: list[str] = []

        def crash(setup: Setup, *arguments: Any, **named: Any) -> Any:
            if len(done) == 3:
                raise MemoryError("in the last of four")
            done.append(setup.collection.name)
            return real(setup, *arguments, **named)

        monkeypatch.setattr(running, "reproduce_dataset", crash)
        assert isinstance(CliRunner().invoke(app, command(data, checkpoint, out)).exception, MemoryError)
        assert len(running.read_results(out)) == 3
        monkeypatch.setattr(running, "reproduce_dataset", real)
        answer = CliRunner().invoke(app, command(data, checkpoint, out, "--resume"))
        assert answer.exit_code == 0
        assert "scifact: already done" in answer.stderr
        assert figures(out) == figures(finished)

    def test_a_killed_run_goes_on(self, finished: Path, data: Path, checkpoint: Path, tmp_path: Path) -> None:
        out = tmp_path / "run"
        start = [sys.executable, "-c", KILLED_HALFWAY.format(steps=adapter.STEPS), *command(data, checkpoint, out)]
        killed = subprocess.run(start, capture_output=True, text=True, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert [(one["dataset"], one["setting"]) for one in running.read_results(out)] == [("scifact", "rerank")]
        assert list((out / "scifact" / "end-to-end").glob("*.trec")), "the second of four was half written"
        answer = CliRunner().invoke(app, command(data, checkpoint, out, "--resume"), catch_exceptions=False)
        assert answer.exit_code == 0
        assert figures(out) == figures(finished)

    def test_a_damaged_cache_entry_is_named_and_the_others_are_done(
        self, data: Path, checkpoint: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "run"
        first = command(data, checkpoint, out, "--setting", "rerank")
        assert CliRunner().invoke(app, first).exit_code == 0
        folders = (tmp_path / "cache").glob("document-*")
        folder = next(path for path in folders if "scifact01" in (path / "ids.jsonl").read_text())
        (folder / "vectors.f16").write_bytes(b"half")
        shutil.rmtree(out)
        answer = CliRunner().invoke(app, first)
        assert answer.exit_code == 1, "a dataset is missing from the tables"
        assert f"scifact: skipped, {folder / 'vectors.f16'} should hold" in answer.stderr.replace("\n", "")
        assert [one["dataset"] for one in running.read_results(out)] == ["pets"]
        shutil.rmtree(folder)
        assert CliRunner().invoke(app, [*first, "--resume"]).exit_code == 0
        assert {one["dataset"] for one in running.read_results(out)} == {"scifact", "pets"}

    @pytest.mark.parametrize("content", ["{", "{}", "[]"])
    def test_a_damaged_result_is_named_and_made_again(
        self, finished: Path, data: Path, checkpoint: Path, tmp_path: Path, content: str
    ) -> None:
        out = tmp_path / "run"
        shutil.copytree(finished, out)
        (out / "pets" / "rerank" / "result.json").write_text(content)
        with pytest.raises(InputError, match=r"result\.json is damaged; delete it, or use --resume"):
            running.read_results(out)
        assert CliRunner().invoke(app, command(data, checkpoint, out, "--resume")).exit_code == 0
        assert figures(out) == figures(finished)

    @pytest.mark.parametrize("content", ["{", "{}", '{"encoder": 1, "protocol": 2}'])
    def test_a_damaged_run_is_named(
        self, finished: Path, data: Path, checkpoint: Path, tmp_path: Path, content: str
    ) -> None:
        shutil.copytree(finished, tmp_path / "run")
        (tmp_path / "run" / "run.json").write_text(content)
        answer = CliRunner().invoke(app, command(data, checkpoint, tmp_path / "run", "--resume"))
        assert "run.json is damaged; choose another --out" in str(answer.exception)

    def test_a_first_try_that_found_no_data_is_in_nobodys_way(
        self, data: Path, checkpoint: Path, tmp_path: Path
    ) -> None:
        answer = CliRunner().invoke(app, command(tmp_path / "nowhere", checkpoint, tmp_path / "run"))
        assert "there is no folder" in answer.stderr
        assert "holds no results" in str(answer.exception)
        second = command(data, checkpoint, tmp_path / "run", "--setting", "rerank")
        assert CliRunner().invoke(app, second).exit_code == 0


class TestModel:
    @pytest.mark.parametrize(
        ("dataset", "query_length"), [("arguana", 64), ("climate-fever", 64), ("scifact", 32), ("mine", 32)]
    )
    def test_a_model_that_fills_queries_gets_the_lengths_of_the_field(
        self, checkpoint: Path, dataset: str, query_length: int
    ) -> None:
        encoder = running.RunEncoder(str(checkpoint)).load(dataset_named(dataset))
        assert encoder.query_length == query_length, "arguana's would be 300"
        assert encoder.document_length == 64, "it has positions for no more"

    def test_a_plain_encoder_keeps_to_what_it_was_trained_with(self, plain_checkpoint: Path) -> None:
        encoder = running.RunEncoder("minilm").load(dataset_named("arguana"))
        assert (encoder.query_length, encoder.document_length) == (256, 256)
        encoder = running.RunEncoder("minilm").load(dataset_named("scifact"))
        assert (encoder.query_length, encoder.document_length) == (64, 256)

    def test_lengths_can_be_given(self, checkpoint: Path) -> None:
        encoder = running.RunEncoder(str(checkpoint), 12, 14).load(dataset_named("arguana"))
        assert (encoder.query_length, encoder.document_length) == (12, 14)

    def test_one_that_cannot_be_loaded_is_told_before_anything_is_written(self, data: Path, tmp_path: Path) -> None:
        answer = CliRunner().invoke(app, command(data, tmp_path / "none", tmp_path / "run"))
        assert "there is no folder" in str(answer.exception)
        assert not (tmp_path / "run" / "run.json").exists()


class TestData:
    @pytest.mark.parametrize("name", ["/somewhere/scifact", "../scifact", "a/b"])
    def test_a_path_is_no_name(self, name: str) -> None:
        with pytest.raises(InputError, match="give the name of a dataset"):
            dataset_named(name)
        assert dataset_named("arguana/").query_length == 300

    def test_a_missing_dataset_is_skipped_with_how_to_get_it(
        self, data: Path, checkpoint: Path, tmp_path: Path
    ) -> None:
        arguments = command(data, checkpoint, tmp_path / "run", "--setting", "rerank")
        arguments[1:3] = ["pets", "nq", "mine"]
        answer = CliRunner().invoke(app, arguments)
        assert answer.exit_code == 1
        told = answer.stderr.replace("\n", "")
        assert f"nq: skipped, it is not in {data}; download https://" in told
        assert "/nq.zip and unpack it there" in told
        assert f"mine: skipped, it is not in {data}; it has pets, scifact" in told

    def test_who_names_no_dataset_gets_those_that_are_there(self, data: Path, checkpoint: Path, tmp_path: Path) -> None:
        arguments = command(data, checkpoint, tmp_path / "run", "--setting", "rerank")
        del arguments[1:3]
        answer = CliRunner().invoke(app, arguments)
        assert answer.exit_code == 0
        told = answer.stderr.replace("\n", "")
        assert f"skipped datasets that are not in {data}: msmarco, nq, hotpotqa" in told
        assert "/NAME.zip and unpack it there" in told
        assert {one["dataset"] for one in running.read_results(tmp_path / "run")} == {"scifact", "pets"}

    def test_without_names_it_is_the_paper_and_whatever_else_is_there(self, data: Path) -> None:
        assert running.chosen_datasets([], None) == list(DATASETS)
        assert [one.name for one in running.chosen_datasets([], data)] == [*(one.name for one in DATASETS), "pets"]
        with pytest.raises(InputError, match="there is no folder"):
            running.chosen_datasets([], data / "nowhere")

    def test_without_a_folder_it_is_downloaded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[tuple[Any, ...]] = []

        def fetch(*arguments: Any, **_: Any) -> Path:
            asked.append(arguments)
            return tmp_path

        monkeypatch.setattr(running, "fetch", fetch)
        assert running.locate(dataset_named("scifact"), None, tmp_path) == tmp_path
        assert asked[0][0].endswith("/scifact.zip")
        with pytest.raises(InputError, match=r"not one of the paper's datasets \(msmarco, nq"):
            running.locate(dataset_named("mine"), None, tmp_path)


class TestSplits:
    def test_given_splits_are_used(self, data: Path) -> None:
        roles = draw_splits(load_collection(data / "pets"), most=1000, seed=0)
        assert {role: len(queries) for role, queries in roles.queries.items()} == dict.fromkeys(roles.queries, 6)
        assert roles.judged_in == {"train": "train", "validation": "dev", "test": "test"}

    def test_test_queries_alone_are_divided_and_never_shared(self, data: Path) -> None:
        roles = draw_splits(load_collection(data / "scifact"), most=1000, seed=0)
        everyone = [query for queries in roles.queries.values() for query in queries]
        assert len(everyone) == len(set(everyone)) == 12
        assert set(roles.judged_in.values()) == {"test"}

    def test_a_query_that_is_measured_on_is_not_learnt_from(self, tmp_path: Path) -> None:
        folder = write_tiny(tmp_path / "leaky", queries=6, splits=("train", "test"))
        with (folder / "qrels" / "train.tsv").open("a") as file:
            file.write("q01\tleaky01\t1\n")  # which is a test query
        roles = draw_splits(load_collection(folder), most=1000, seed=0)
        assert "q01" in roles.queries["test"]
        assert not set(roles.queries["test"]) & {*roles.queries["train"], *roles.queries["validation"]}

    def test_the_same_words_under_another_id_stay_on_one_side(self, tmp_path: Path) -> None:
        folder = write_tiny(tmp_path / "twice", queries=40)
        lines = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
        for place, line in enumerate(lines):
            line["text"] = f"{lines[place % 20]['text']}, {WORDS[place % 20]}!".upper() if place >= 20 else line["text"]
        for place in range(20):
            lines[place]["text"] += f"  {WORDS[place]}"
        (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
        collection = load_collection(folder)
        splits = draw_splits(collection, most=1000, seed=0)
        words = [{words_of(text) for text in splits.texts(collection, role).values()} for role in ROLES]
        assert sum(map(len, splits.queries.values())) == 40
        assert len(words[0] | words[1] | words[2]) == sum(map(len, words)) == 20

    @pytest.mark.parametrize(("role", "other"), [("train", "test"), ("validation", "test"), ("train", "validation")])
    def test_kept_splits_with_the_same_words_in_two_roles_are_refused(
        self, data: Path, tmp_path: Path, role: str, other: str
    ) -> None:
        path, collection = tmp_path / "splits.json", load_collection(data / "scifact")
        drawn = load_splits(path, collection, most=1000, seed=0).queries
        shouted = collection.queries[drawn[other][0]].upper() + "!"
        leaky = replace(collection, queries={**collection.queries, drawn[role][0]: shouted})
        told = f"for {role}, which has the words of a {other} query; delete it to draw them again"
        with pytest.raises(InputError, match=told):
            load_splits(path, leaky, most=1000, seed=0)

    def test_no_more_than_asked_for_are_drawn(self, data: Path) -> None:
        collection = load_collection(data / "pets")
        roles = draw_splits(collection, most=2, seed=0)
        assert [len(queries) for queries in roles.queries.values()] == [2, 2, 6]
        assert roles == draw_splits(collection, most=2, seed=0)

    def test_kept_splits_are_used_and_those_of_another_collection_refused(self, data: Path, tmp_path: Path) -> None:
        path, collection = tmp_path / "splits.json", load_collection(data / "scifact")
        first = load_splits(path, collection, most=1000, seed=0)
        swapped = json.loads(path.read_text())
        swapped["queries"]["test"].reverse()
        path.write_text(json.dumps(swapped))
        assert load_splits(path, collection, most=1000, seed=0).queries["test"] == first.queries["test"][::-1]
        path.write_text(path.read_text().replace('"q0', '"x0'))
        with pytest.raises(InputError, match="for which scifact has no judgements; delete the file"):
            load_splits(path, collection, most=1000, seed=0)
        path.write_text("[]")
        with pytest.raises(InputError, match="does not hold splits"):
            load_splits(path, collection, most=1000, seed=0)

    def test_splits_of_another_seed_or_size_are_refused(self, data: Path, tmp_path: Path) -> None:
        path, collection = tmp_path / "splits.json", load_collection(data / "pets")
        drawn = load_splits(path, collection, most=2, seed=3)
        assert load_splits(path, collection, most=2, seed=3) == drawn
        for most, seed in ((2, 0), (1000, 3)):
            with pytest.raises(InputError, match="give --seed 3 --max-queries 2, or delete it to draw them again"):
                load_splits(path, collection, most=most, seed=seed)

    @pytest.mark.parametrize("known", [{}, {"seed": 0}])
    def test_splits_of_earlier_versions_are_of_the_default_seed_and_size(
        self, data: Path, tmp_path: Path, known: dict[str, int]
    ) -> None:
        path, collection = tmp_path / "splits.json", load_collection(data / "pets")
        drawn = load_splits(path, collection, most=1000, seed=0)
        path.write_text(json.dumps({**known, "judged_in": drawn.judged_in, "queries": drawn.queries}))
        assert load_splits(path, collection, most=1000, seed=0) == drawn
        for most, seed in ((1000, 1), (2, 0)):
            with pytest.raises(InputError, match="give --seed 0 --max-queries 1000"):
                load_splits(path, collection, most=most, seed=seed)


@pytest.mark.parametrize(("dataset", "preset"), [("scifact", PRESETS["scifact"]), ("pets", None)])
def test_hyper_parameters_are_published_or_searched(
    dataset: str, preset: Preset | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fit(*arguments: Any, **named: Any) -> Any:
        asked.append((named.get("recipe"), named.get("preset")))
        return fit_weights(*arguments, recipe="paper", preset=Preset(), validation=problems.random_problem(2))

    monkeypatch.setattr(protocol, "fit_weights", fit)
    train, validation = problems.random_problem(0), problems.random_problem(1)
    protocol.learn_all(train, validation, problems.start(), dataset_named(dataset))
    assert asked == [("paper", preset), (None, None)]


def test_too_few_queries_to_learn_from_are_measured_all_the_same(checkpoint: Path, tmp_path: Path) -> None:
    write_tiny(tmp_path / "data" / "few", queries=4)
    arguments = command(tmp_path / "data", checkpoint, tmp_path / "run")
    arguments[1:3] = ["few"]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    for one in running.read_results(tmp_path / "run"):
        assert one["chosen"][FEW_SHOT] == "nothing could be learnt"
        assert one["systems"][FEW_SHOT]["measures"] == one["systems"][MIX]["measures"]


def test_end_to_end_by_an_index_each_weighting_ranks_what_it_found(
    data: Path, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chamfer.retrieve.stages.FEW", 0)
    arguments = command(data, checkpoint, tmp_path / "run", "--setting", "end-to-end", "--depth", "5")
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    for system in SYSTEMS:
        rankings = read_run(tmp_path / "run" / "scifact" / "end-to-end" / f"{system}.trec")
        assert max(map(len, rankings)) <= 5


def test_own_documents_are_left_out_and_kept(checkpoint: Path, tmp_path: Path) -> None:
    for name in ("arguana", "other"):
        folder = write_tiny(tmp_path / "data" / name)
        queries = (folder / "queries.jsonl").read_text()
        with (folder / "corpus.jsonl").open("a") as file:
            file.write(queries)  # every query is a document, too
        for path in (folder / "corpus.jsonl", *(folder / "qrels").iterdir()):
            path.write_text(path.read_text().replace(name, "d"))
    arguments = command(tmp_path / "data", checkpoint, tmp_path / "run")
    arguments[1:3] = ["arguana", "other"]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    found = {(one["dataset"], one["setting"]): one for one in running.read_results(tmp_path / "run")}
    for setting in SETTINGS:
        first, second = found["arguana", setting], found["other", setting]
        for system in (CHAMFER, "idf", "idf-soft"):
            assert first["systems"][system] == second["systems"][system], "nothing else changes"
        assert set(first[OWN_KEPT]) == set(SYSTEMS)
        assert second[OWN_KEPT] == {}
        left_out, kept = (
            np.array([one[name]["measures"]["RR@10"] for name in SYSTEMS])
            for one in (first["systems"], first[OWN_KEPT])
        )
        assert (kept <= left_out).all()
        assert kept.sum() < left_out.sum(), "a query's own document takes a place"
        for ranking in read_run(tmp_path / "run" / "arguana" / setting / f"{CHAMFER}.trec"):
            assert ranking.query_id not in ranking.document_ids


def test_the_separator_has_its_idf_in_the_papers_systems(finished: Path) -> None:
    for name in ("scifact", "pets"):
        folder = finished / name / "rerank"
        idf, soft = (TokenWeights.load(folder / f"{system}.safetensors") for system in ("idf", "idf-soft"))
        ids = idf.vocabulary.ids
        assert idf.table[ids["[SEP]"]] == pytest.approx(np.log(0.5 / 12.5 + 1)), "all twelve documents end with it"
        assert idf.table[ids["[CLS]"]] in (0, 1)
        assert idf.metadata["separator"] == "idf"
        assert soft.table[ids["[SEP]"]] == 1


def test_recall_can_be_capped() -> None:
    judgements = {"q": {f"d{place:02}": 1 for place in range(40)}}
    ranking = Ranking.of("q", [f"d{place:02}" for place in range(5)], list(range(5)))
    values = measure_all([ranking], judgements)
    assert values["R@10"][0] == 5 / 40
    assert values["Rcap@10"][0] == 5 / 10
    assert values["Rcap@100"][0] == values["R@100"][0] == 5 / 40


class TestReport:
    @staticmethod
    def result(
        name: str, p_value: float, value: float, setting: str = "rerank", *, queries: int = 90
    ) -> dict[str, Any]:
        found = {"p_value": p_value, "interval": [value - 0.6, value - 0.4]}
        systems = {
            system: {
                "measures": {"R@10": 0.5 if system == CHAMFER else value},
                "against_chamfer": {"R@10": {"p_value": 1.0, "interval": [0.0, 0.0]} if system == CHAMFER else found},
            }
            for system in SYSTEMS
        }
        group = next((dataset.group for dataset in DATASETS if dataset.name == name), "")
        encoder = {"name": "minilm"}
        return {
            "dataset": name,
            "group": group,
            "setting": setting,
            "queries": {"test": queries},
            "systems": systems,
            "encoder": encoder,
        }

    def test_results_of_earlier_versions_are_shown_without_the_systems_that_they_lack(self, tmp_path: Path) -> None:
        new, old = self.result("scifact", 0.001, 0.6), self.result("pets", 0.001, 0.6)
        del old["systems"][MIX]
        assert "| softened IDF | mix | few-shot" in as_markdown([report([new], "rerank", "R@10")], [])
        both = report([new, old], "rerank", "R@10")
        assert both.systems == [name for name in SYSTEMS if name != MIX]
        assert "mix" not in as_markdown([both], [])
        assert both.lines[0].cells[FEW_SHOT].p_value == pytest.approx(0.008), "one of eight comparisons"
        plot_gains(tmp_path / "gains.svg", [both])

    def test_what_is_within_noise_is_not_bold(self) -> None:
        table = report([self.result("scifact", 0.001, 0.6), self.result("pets", 0.04, 0.6)], "rerank", "R@10")
        certain, uncertain = table.lines
        assert certain.cells[FEW_SHOT].beyond_noise
        assert not uncertain.cells[FEW_SHOT].beyond_noise, "0.04 does not survive ten comparisons"
        page = as_markdown([table], [])
        assert "| scifact | 90 | 0.5000 | **0.6000 (+20.0%)** |" in page
        assert "| pets | 90 | 0.5000 | 0.6000 (+20.0%) |" in page
        assert r"\textbf{0.6000 (+20.0\%)}" in as_latex([table], ["100 % true"])

    def test_a_loss_is_never_bold(self) -> None:
        table = report([self.result("scifact", 0.0001, 0.4)], "rerank", "R@10")
        assert table.lines[0].cells[FEW_SHOT].beyond_noise
        assert "**" not in as_markdown([table], [])

    def test_means_are_of_gains_and_stand_beside_the_papers(self) -> None:
        table = report([self.result("scifact", 1, 0.6), self.result("fever", 1, 0.5)], "rerank", "R@10")
        group, everything = table.means
        assert (group.name, everything.name) == ("Fact Checking", "all")
        assert group.gains[FEW_SHOT] == pytest.approx(10)
        beside = group.compared[FEW_SHOT_PAPER]
        assert (beside.ours, beside.papers) == pytest.approx((10, (6.34 + 0.44) / 2), abs=0.01)
        assert beside.rows == 2
        assert group.compared == everything.compared
        whole = report([self.result(dataset.name, 1, 0.6) for dataset in DATASETS], "rerank", "R@10")
        facts = whole.means[-3]
        assert (facts.name, round(facts.compared[FEW_SHOT_PAPER].papers, 2)) == ("Fact Checking", 7.02)
        assert whole.means[-2].compared == {}, "trec-covid alone is no mean"
        assert whole.means[-1].compared[FEW_SHOT_PAPER].rows == 9, "the recall of the other four is capped"
        assert table.lines[0].printed is not None
        row = "| scifact | 0.5000 | 0.8136 | -0.3136 | 0.6000 | 0.8336 | -0.2336 | 0.6000 | 0.8652 | -0.2652 |"
        assert row in as_markdown([table], [])
        row = "| mean gain, Fact Checking |  |  |  | +20.00% | +2.69% | +17.31 | +20.00% | +7.02% | +12.98 |"
        assert row in as_markdown([whole], [])

    def test_rows_in_doubt_are_marked_and_left_out_of_the_means_beside_the_papers(self) -> None:
        everything = [self.result(dataset.name, 1, 0.6, "end-to-end") for dataset in DATASETS]
        for one, value in zip(everything, range(13), strict=True):
            one["systems"][FEW_SHOT_PAPER]["measures"]["R@10"] = 0.5 + value / 100
        table = report(everything, "end-to-end", "R@10")
        doubtful = {line.dataset for line in table.lines if line.cells[FEW_SHOT_PAPER].doubtful}
        assert doubtful == {"nq", "scidocs", "fever"}, "msmarco and dbpedia-entity are in the other table"
        left = [line for line in table.lines if line.printed and line.dataset not in doubtful]
        ours, papers, rows = table.means[-1].compared[FEW_SHOT_PAPER]
        assert rows == len(left) == 6
        assert ours == pytest.approx(np.mean([line.cells[FEW_SHOT_PAPER].gain for line in left]))
        assert papers == pytest.approx(np.mean([line.printed.gain for line in left if line.printed]))
        zero_shot = {line.dataset for line in table.lines if line.cells["idf"].doubtful}
        assert zero_shot == {"arguana", "scidocs"}, "a doubt about zero-shot says nothing about few-shot"
        page = as_markdown([table], notes(everything))
        assert "| nq | 0.5000 | 0.7989 | -0.2989 | 0.6000 | 0.7861 | -0.1861 | 0.5100 | 0.7989? |" in page
        assert "In doubt in the paper: end-to-end, all measures, scidocs: Chamfer and zero-shot equal" in page
        assert "In doubt in the paper: rerank" not in page, "that setting is not in a table"

    @pytest.mark.parametrize(("dataset", "drawn"), [("scifact", True), ("scidocs", False)])
    def test_a_plot_shows_the_papers_gain_unless_it_is_in_doubt(
        self, tmp_path: Path, dataset: str, drawn: bool
    ) -> None:
        plot_gains(tmp_path / "gains.svg", [report([self.result(dataset, 1, 0.6, "end-to-end")], "end-to-end", "R@10")])
        assert ("<!-- paper, few-shot -->" in (tmp_path / "gains.svg").read_text()) is drawn

    def test_a_dataset_with_own_documents_has_a_second_row_that_does_not_count(self) -> None:
        arguana = self.result("arguana", 0.001, 0.6)
        alone = report([arguana, self.result("pets", 1, 0.7)], "rerank", "R@10")
        kept = {**arguana, OWN_KEPT: self.result("arguana", 0.001, 0.55)["systems"]}
        table = report([kept, self.result("pets", 1, 0.7)], "rerank", "R@10")
        assert table.means == alone.means
        page = as_markdown([table], notes([kept]))
        assert "| arguana, own document kept | 90 | 0.5000 | **0.5500 (+10.0%)** |" in page
        assert "| arguana, own document kept | 0.5000 | 0.6600 | -0.1600 |" in page
        assert page.index("| arguana |") < page.index("| arguana, own document kept |") < page.index("| pets |")
        assert "A query's own document is left out" in page
        assert [row["dataset"] for row in table.as_json()[OWN_KEPT]] == ["arguana"]
        assert "own document" not in as_markdown([alone], notes([arguana]))

    def test_all_rows_of_a_table_are_one_family_of_comparisons(self) -> None:
        arguana = self.result("arguana", 0.008, 0.6)
        kept = {**arguana, OWN_KEPT: self.result("arguana", 0.008, 0.55)["systems"]}
        alone, both = (report([one], "rerank", "R@10") for one in (arguana, kept))
        assert alone.lines[0].cells[FEW_SHOT].p_value == pytest.approx(0.04), "one of five comparisons"
        for line in (*both.lines, *both.own_kept):
            assert line.cells[FEW_SHOT].p_value == pytest.approx(0.08), "one of ten"
        assert "**" in as_markdown([alone], [])
        assert "**" not in as_markdown([both], [])

    def test_collections_with_few_queries_are_shown_and_left_out_of_means(self) -> None:
        some = [self.result("scifact", 1, 0.6), self.result("fever", 1, 0.55, queries=50)]
        table = report([*some, self.result("climate-fever", 1, 0.9, queries=49)], "rerank", "R@10")
        assert [line.dataset for line in table.lines] == ["scifact", "fever", "climate-fever"]
        assert table.means == report(some, "rerank", "R@10").means
        group, everything = table.means
        assert group.collections == everything.collections == 2
        page = as_markdown([table], notes(some))
        assert "| mean gain, Fact Checking |  |  | +15.00% | +15.00% |" in page
        assert "| mean gain, all |  |  | +15.00% (-48.53 to +78.53) |" in page
        assert "over collections with at least 50 test queries" in page
        small = report([self.result("pets", 1, 0.6, queries=49)], "rerank", "R@10")
        assert small.means == []
        assert "mean gain" not in as_markdown([small], [])

    def test_collections_whose_documents_connect_most_queries_are_named(self) -> None:
        some = [
            {**self.result(name, 1, 0.6), "resampled": {"by": by, "groups": 9}}
            for name, by in (("scifact", "document"), ("pets", "text"))
        ]
        told = [note for note in notes(some) if note.startswith("Tests and intervals")]
        assert told == [
            "Tests and intervals treat queries that share a relevant document, directly or through others, as one "
            "unit; on pets, where that would join most queries, only those with the same words."
        ]

    def test_columns_of_the_paper_are_left_out_where_it_has_none_of_the_datasets(self) -> None:
        page = as_markdown([report([self.result("pets", 1, 0.6)], "rerank", "R@10")], [])
        assert "compared with the paper" not in page
        assert "| mean gain, all |  |  | +20.00% | +20.00% | +20.00% | +20.00% | +20.00% |" in page

    def test_the_papers_slips_are_told(self) -> None:
        slip = "webis-touche2020: printed +0.39%"
        assert any(slip in note for note in notes([self.result("webis-touche2020", 1, 0.6)]))
        told = notes([self.result("scifact", 1, 0.6)])
        assert not any(slip in note for note in told), "that row is not in the table"
        assert any("mean of all datasets" in note for note in told)
        assert not any("end-to-end, " in note for note in told), "that setting is not in a table"
        assert any("Rcap@k" in note and "webis-touche2020, trec-covid" in note for note in told)

    def test_programs_get_intervals_and_corrected_p_values(self) -> None:
        told = report([self.result("scifact", 0.001, 0.6)], "rerank", "R@10").as_json()
        cell = told["rows"][0]["systems"]["idf"]
        assert cell["interval"] == (pytest.approx(0.0), pytest.approx(0.2))
        assert cell["p_value"] == pytest.approx(0.005), "one of five comparisons"
        assert cell["ours_minus_papers"] == pytest.approx(0.6 - 0.8336)
