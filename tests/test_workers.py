"""Jobs in this process and on Ray give the same results, to the last bit."""

import json
import os
import pickle
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from chamfer import Encoder, InputError
from chamfer.cache import encoding
from chamfer.cache.encoded import encode_cached
from chamfer.cache.encoding import EncodeTexts
from chamfer.cache.text_encoder import TextEncoder
from chamfer.cli.app import app
from chamfer.data.collection import load_collection
from chamfer.data.corpus import documents_from
from chamfer.data.documents import Document
from chamfer.data.ranking import Ranking
from chamfer.encode.library_model import module_of
from chamfer.errors import WorkerError
from chamfer.evaluate.on_collection import evaluate_collection
from chamfer.evaluate.setup import Setup
from chamfer.index import building
from chamfer.index.adding import add_documents
from chamfer.index.building import build, settings_for
from chamfer.index.writing import writing
from chamfer.learn import judged as judged_in
from chamfer.learn.on_collection import learn_collection
from chamfer.search import rerank_all as reranked_in
from chamfer.search.rerank_all import rerank_all
from chamfer.search.rerank_encoded import RerankEncoded
from chamfer.support.progress import Advance
from chamfer.weights import counting as counted_in
from chamfer.weights.counting import count_tokens
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers import ray_driver
from chamfer.workers.connect import workers_at
from chamfer.workers.jobs import IN_PROCESS, Table, Workers
from chamfer.workers.ray_driver import Pool, pool_for, ray_workers
from tests.checkpoints import WORDS
from tests.conftest import write_collection

# Ray emits warnings about its own settings, from its own threads.
pytestmark = pytest.mark.filterwarnings("ignore")

DRAWN = np.random.default_rng(0).choice(WORDS, (90, 4))
TEXTS = {f"d{place:02d}": " ".join([*row, *["cat"] * (place % 9)]) for place, row in enumerate(DRAWN)}


@pytest.fixture(scope="class")
def one_thread() -> Iterator[None]:
    """As many threads here as in a worker, because their number affects the last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="class")
def cluster(one_thread: None) -> Iterator[Workers]:
    """Two workers on this machine, with two GPUs that are declared but do not exist."""
    ray = pytest.importorskip("ray", reason="the extra chamfer[ray] is not installed")
    with (
        patch.object(ray, "init", partial(ray.init, num_gpus=2)),
        ray_workers("local", object_store=100_000_000) as workers,
    ):
        yield workers


@pytest.fixture
def on_ray(cluster: Workers, monkeypatch: pytest.MonkeyPatch) -> Workers:
    """The two workers, on CPUs."""
    nodes = ray_driver._nodes
    monkeypatch.setattr(ray_driver, "_nodes", lambda: [{**node, "GPU": 0.0} for node in nodes()])
    return cluster


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "COMMIT_EVERY", 16)
    monkeypatch.setattr(counted_in, "CHUNK", 16)
    monkeypatch.setattr(building, "CHUNK", 24)
    monkeypatch.setattr(building, "sample_size", lambda tokens: tokens // 3)
    monkeypatch.setattr(judged_in, "PART", 2)
    monkeypatch.setattr(reranked_in, "QUERIES_PER_TABLE", 2)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of an index or a corpus, except locks and databases, whose pages may be in any order."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".sqlite" and "lock" not in path.name
    }


def ids_and_texts() -> tuple[list[str], list[str]]:
    return list(TEXTS), list(TEXTS.values())


@dataclass(frozen=True)
class DieOnce:
    """A job that kills its process at the second table, once."""

    job: EncodeTexts
    marker: Path

    def __call__(self, table: Table, advance: Advance) -> Table:
        if list(TEXTS.values())[16] in table["text"] and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.job(table, advance)


class TestOnRay:
    def test_vectors_are_the_same_to_the_last_byte(self, encoder: Encoder, tmp_path: Path, on_ray: Workers) -> None:
        done: list[int] = []
        here = encode_cached(tmp_path / "here", encoder, *ids_and_texts())
        there = encode_cached(tmp_path / "there", encoder, *ids_and_texts(), advance=done.append, workers=on_ray)
        assert files_of(here.folder) == files_of(there.folder)
        assert sum(done) == len(TEXTS)
        assert len(done) > 2, "progress is reported table by table"

    def test_frequencies_are_equal(self, encoder: Encoder, on_ray: Workers) -> None:
        for sample in (1.0, 0.5):
            texts = [*TEXTS.values(), "mat " * 100]
            here = count_tokens(encoder, texts, sample=sample)
            there = count_tokens(encoder, texts, sample=sample, workers=on_ray)
            np.testing.assert_array_equal(here.counts, there.counts)
            assert here.documents == there.documents
            assert here.truncated == there.truncated == 1

    @pytest.mark.parametrize("settings", [{}, {"precision": "2bit", "pool": 2, "dimensions": 8}])
    def test_an_index_is_the_same_in_every_file(
        self, encoder: Encoder, tmp_path: Path, on_ray: Workers, settings: dict[str, object]
    ) -> None:
        more = [Document(f"e{place}", text) for place, text in enumerate(TEXTS.values())]
        for name, workers in (("here", IN_PROCESS), ("there", on_ray)):
            kept = settings_for(encoder, **settings)  # type: ignore[arg-type]
            build(tmp_path / name, documents_from(TEXTS), encoder, kept, workers=workers)
            with writing(tmp_path / name) as writer:
                first = add_documents(writer, more[:60], encoder, workers=workers)
                rest = add_documents(writer, more, encoder, workers=workers)
                assert (first.documents, first.skipped, rest.documents, rest.skipped) == (60, 0, 30, 60)
        assert files_of(tmp_path / "here") == files_of(tmp_path / "there")

    def test_a_killed_worker_changes_nothing(
        self, encoder: Encoder, tmp_path: Path, on_ray: Workers, capfd: pytest.CaptureFixture[str]
    ) -> None:
        texts = list(TEXTS.values())
        tables: list[Table] = [{"text": texts[at : at + 16]} for at in range(0, len(texts), 16)]
        job = EncodeTexts(TextEncoder(encoder, "document"))
        expected = list(IN_PROCESS.map(job, tables))
        assert list(on_ray.map(DieOnce(job, tmp_path / "died"), tables)) == expected
        assert (tmp_path / "died").exists()
        assert capfd.readouterr().out == "", "standard output is for results"

    def test_interrupted_work_resumes_where_it_stopped(self, encoder: Encoder, tmp_path: Path, on_ray: Workers) -> None:
        def stop(done: int) -> None:
            if done:
                stopped.append(done)
            if len(stopped) == 3:
                raise KeyboardInterrupt

        stopped: list[int] = []
        with pytest.raises(KeyboardInterrupt):
            encode_cached(tmp_path / "there", encoder, *ids_and_texts(), advance=stop, workers=on_ray)
        done: list[int] = []
        there = encode_cached(tmp_path / "there", encoder, *ids_and_texts(), advance=done.append, workers=on_ray)
        assert done[0] == 32
        assert sum(done) == len(TEXTS)
        assert files_of(encode_cached(tmp_path / "here", encoder, *ids_and_texts()).folder) == files_of(there.folder)

    def test_re_ranking_resumes_where_it_stopped(self, encoder: Encoder, tmp_path: Path, on_ray: Workers) -> None:
        corpus = encode_cached(tmp_path / "cache", encoder, *ids_and_texts())
        candidates = [Ranking(name, tuple(TEXTS), (0.0,) * len(TEXTS)) for name in list(TEXTS)[:7]]
        weightings = {"uniform": TokenWeights.uniform(encoder.vocabulary)}
        job = RerankEncoded(corpus, corpus, weightings, k=5)
        rank = partial(rerank_all, job, candidates, keep=tmp_path / "cache")

        def stop(done: int) -> None:
            stopped.append(done)
            if sum(stopped) >= 5:
                raise KeyboardInterrupt

        stopped: list[int] = []
        with pytest.raises(KeyboardInterrupt):
            rank(advance=stop)
        done: list[int] = []
        assert rank(advance=done.append, workers=on_ray) == rerank_all(job, candidates)
        assert (done[0], sum(done)) == (4, 7)
        assert list((tmp_path / "cache").glob("reranked-*")) == []

    def test_rankings_minima_and_learnt_weights_are_equal(
        self, encoder: Encoder, tmp_path: Path, on_ray: Workers
    ) -> None:
        collection = load_collection(write_collection(tmp_path / "pets"))
        results = []
        for name, workers in (("here", IN_PROCESS), ("there", on_ray)):
            setup = Setup(collection, encoder, tmp_path / name, workers=workers)
            ranked = evaluate_collection(setup, ["uniform", "idf-soft", "mix"], ablation=True)
            results.append((ranked, learn_collection(setup, ["test"], folds=2)))
        (ranked_here, learnt_here), (ranked_there, learnt_there) = results
        for here, there in zip(ranked_here.systems, ranked_there.systems, strict=True):
            assert here.rankings == there.rankings
        np.testing.assert_array_equal(learnt_here.weights.table, learnt_there.weights.table)
        assert learnt_here.weights.adapter is not None
        assert learnt_there.weights.adapter is not None
        np.testing.assert_array_equal(learnt_here.weights.adapter.up, learnt_there.weights.adapter.up)
        assert learnt_here.weights.mix == learnt_there.weights.mix
        assert learnt_here.weights.metadata == learnt_there.weights.metadata
        assert learnt_here.report.as_json() == learnt_there.report.as_json()
        minima = [sorted((tmp_path / name).rglob("minima-*/*.npy")) for name in ("here", "there")]
        assert [path.read_bytes() for path in minima[0]] == [path.read_bytes() for path in minima[1]]
        assert len(minima[0]) > 1

    def test_an_input_error_on_a_worker_keeps_its_message(self, encoder: Encoder, on_ray: Workers) -> None:
        tables: list[Table] = [{"text": ["cat"]}, {"text": [" "]}]
        with pytest.raises(InputError, match=r"^the query ' ' has no tokens; give some text to search for$"):
            list(on_ray.map(EncodeTexts(TextEncoder(encoder, "query")), tables))

    def test_a_corpus_that_a_worker_cannot_open_is_an_error_and_not_retried_forever(
        self, encoder: Encoder, tmp_path: Path, on_ray: Workers
    ) -> None:
        corpus = encode_cached(tmp_path / "cache", encoder, *ids_and_texts())
        job = judged_in.ComputeMinima(corpus, corpus, "l2")
        corpus.folder.rename(tmp_path / "elsewhere")
        with pytest.raises(InputError, match="put the cache where all nodes of the cluster can read it"):
            list(on_ray.map(job, [{"query": ["d00"], "documents": [["d01"]]}] * 2))

    def test_disk_errors_and_empty_results_arrive_as_they_are(self, on_ray: Workers) -> None:
        tables: list[Table] = [{"number": numbers} for numbers in ([], [1], [2, 3])]
        done: list[int] = []
        assert list(on_ray.map(odd, tables, advance=done.append)) == list(IN_PROCESS.map(odd, tables))
        assert sum(done) == 3
        with pytest.raises(OSError, match="No space left on device") as caught:
            list(on_ray.map(odd, [{"number": [28]}, {"number": [1]}]))
        assert (caught.value.errno, caught.value.filename) == (28, "/x/y")

    def test_a_bug_in_a_job_is_not_the_fault_of_the_input(self, on_ray: Workers) -> None:
        with pytest.raises(WorkerError, match=r"^a job failed on a Ray worker: ZeroDivisionError: by 0") as caught:
            list(on_ray.map(odd, [{"number": [0]}, {"number": [1]}]))
        assert "in odd" in caught.value.__notes__[0], "the worker's traceback is attached"

    def test_workers_that_keep_dying_are_not_the_fault_of_the_input(
        self, on_ray: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ray_driver, "RETRIES", 1)
        with pytest.raises(WorkerError, match=r"^Ray workers died repeatedly \(.+\); .* to resume$"):
            list(on_ray.map(odd, [{"number": [-1]}, {"number": [1]}]))

    def test_commands_give_the_same_on_ray(self, tmp_path: Path, on_ray: Workers, plain_checkpoint: Path) -> None:
        folder = write_collection(tmp_path / "pets")
        model = ["--encoder", str(plain_checkpoint)]
        lines = [{"query": f"cat {n}", "documents": ["the cat", "a dog"]} for n in range(5)]
        asked = "".join(json.dumps(line) + "\n" for line in lines)
        answers: list[list[str]] = [[], []]
        for place, more in enumerate(([], ["--ray", "local"])):
            cache = ["--cache", str(tmp_path / f"cache{place}")]
            for command, given in (
                (["encode", str(folder), "--json", *cache], None),
                (["rerank", str(folder), "--split", "test", "--weights", "idf-soft", *cache], None),
                (["rerank", "--weights", "uniform"], asked),
            ):
                done = CliRunner().invoke(app, [*command, *model, *more], input=given)
                assert done.exit_code == 0, done.output
                answers[place].append(done.stdout.replace(f"cache{place}", "cache"))
        assert answers[0] == answers[1]
        assert answers[0][-1].count('"truncated"') == 5

    @pytest.mark.long
    def test_a_worker_has_a_gpu_of_its_own(self, cluster: Workers) -> None:
        """Which GPU Ray assigns to each worker, and in which order results arrive."""
        tables: list[Table] = [{"number": [number]} for number in range(6)]
        found = list(cluster.map(on_which, tables, gpu=True))
        assert [table["number"] for table in found] == [table["number"] for table in tables]
        assert {table["gpu"][0] for table in found} == {"0", "1"}


def odd(table: Table, advance: Advance) -> Table:
    """A job that keeps odd numbers, finds the disk full at 28, has a bug at 0, and kills its process at -1."""
    if 0 in table["number"]:
        raise ZeroDivisionError("by 0")
    if -1 in table["number"]:
        os.kill(os.getpid(), signal.SIGKILL)
    if 28 in table["number"]:
        raise OSError(28, "No space left on device", "/x/y")
    advance(len(table["number"]))
    return {"odd": [number for number in table["number"] if number % 2]}


def on_which(table: Table, advance: Advance) -> Table:
    """A job that reports which GPU it may use."""
    time.sleep(0.3)  # so that both get some
    return {**table, "gpu": [os.environ.get("CUDA_VISIBLE_DEVICES")]}


class TestWithoutRay:
    def test_a_missing_extra_is_named(self) -> None:
        with (
            patch.dict("sys.modules", {"ray": None, "ray.data": None}),
            pytest.raises(
                InputError, match=r"^ray(\.data)? is missing; install it with: pip install 'chamfer\[ray\]'$"
            ),
            workers_at("local"),
        ):
            pass

    @pytest.mark.parametrize(
        ("address", "sentence"),
        [
            ("127.0.0.1:1", "nothing answers at the Ray address '127.0.0.1:1' .*; start a cluster there with"),
            ("somewhere", "the address of a Ray cluster must be host:port, auto or local, not 'somewhere'"),
            ("ray://127.0.0.1:1", "the address of a Ray cluster must be host:port, auto or local"),
            ("a..b:1", r"nothing answers at the Ray address 'a\.\.b:1'"),
            ("[::1]:1", "nothing answers at the Ray address"),
        ],
    )
    def test_an_address_that_cannot_be_reached_is_reported_at_once(self, address: str, sentence: str) -> None:
        with pytest.raises(InputError, match=sentence), workers_at(address):
            pass

    def test_a_worker_fits_its_node(self) -> None:
        assert pool_for([{"CPU": 4.0}], 1) == Pool(4, 1)
        assert pool_for([{"CPU": 16.0}, {"CPU": 16.0}], 16) == Pool(2, 16)
        assert pool_for([{"CPU": 2.0}, {"CPU": 2.0}], 4) == Pool(2, 2)
        with pytest.raises(InputError, match="has no CPUs"):
            pool_for([{"GPU": 1.0}], 4)

    def test_an_encoder_travels_by_name(
        self, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent = pickle.dumps(encoder)
        assert len(sent) < 2000
        again = pickle.loads(sent)
        assert again.fingerprint("document") == encoder.fingerprint("document")
        assert pickle.loads(sent) is again, "an encoder is loaded once per process"
        monkeypatch.chdir(tmp_path)
        (tmp_path / "minilm").mkdir()
        assert Encoder.load("minilm").load_spec.name == "minilm"
        with pytest.raises(InputError, match=r"cannot be sent to workers; use Encoder\.load"):
            pickle.dumps(Encoder(module_of(encoder._model), "mine"))

    def test_vectors_on_disk_travel_by_name(self, encoder: Encoder, tmp_path: Path) -> None:
        corpus = encode_cached(tmp_path / "cache", encoder, *ids_and_texts())
        sent = pickle.dumps(corpus)
        assert len(sent) < 2000
        assert pickle.loads(sent).ids == corpus.ids
        corpus.folder.rename(tmp_path / "elsewhere")
        with pytest.raises(InputError, match="put the cache where all nodes of the cluster can read it"):
            pickle.loads(sent)
