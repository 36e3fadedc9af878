"""Shards behind HTTP: the answers of one index, whatever is lost meanwhile, or an answer that says what is missing."""

import pickle
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Encoder, InputError, Searcher, build_index
from chamfer.data.documents import Document
from chamfer.index.shards import current_version, owner_of
from chamfer.index.snapshot import Snapshot
from chamfer.index.splitting import split_index
from chamfer.index.writing import writing
from chamfer.kernels.form import Form
from chamfer.serve.app import create_app
from chamfer.serve.routes.health import RECENT_SECONDS
from chamfer.serve.service import Service
from chamfer.serve.sharded import scatter as scattering
from chamfer.serve.sharded.backend import ShardBackend
from chamfer.serve.sharded.head import open_queries
from chamfer.serve.sharded.scatter import Scatter
from chamfer.serve.sharded.shard import OPEN, Shard
from chamfer.serve.single import IndexBackend
from chamfer.serve.versions import Versions
from tests.test_shards import build_changed, many_documents

QUERY = "why do cats sleep"
LOCAL = "http://localhost"
SHARDS = 3

pytestmark = pytest.mark.usefixtures("estimated_at_once")


class Answering:
    """A future, as Ray's responses are asked."""

    def __init__(self, future: "Future[bytes]") -> None:
        self._future = future

    def result(self, *, timeout_s: float | None = None) -> Any:
        return pickle.loads(self._future.result(timeout_s))

    def cancel(self) -> None:
        self._future.cancel()


class Threads:
    """Replicas of a shard in this process; what is asked and answered travels as bytes, as it does on Ray.

    ``fault`` is called before every answer, with the number of the replica, and may raise or wait; ``slow`` only
    before questions that are work.
    """

    def __init__(self, make: Callable[[], Shard], replicas: int = 2) -> None:
        self.shards = [make() for _ in range(replicas)]
        self.fault: Callable[[int], None] = lambda replica: None
        self.slow: Callable[[int], None] = lambda replica: None
        self.count = replicas
        self.asked = 0
        self._pool = ThreadPoolExecutor(8)

    def ask(self, method: str, *arguments: Any) -> Answering:
        self.asked += 1
        sent, replica = pickle.dumps(arguments), self.asked % len(self.shards)

        def answer() -> bytes:
            self.fault(replica)
            if method in {"rank", "documents", "ready"}:
                self.slow(replica)
            return pickle.dumps(getattr(self.shards[replica], method)(*pickle.loads(sent)))

        return Answering(self._pool.submit(answer))


def shards_of(folder: Path, *, first_stage: str = "auto") -> dict[str, Threads]:
    def make(number: int) -> Callable[[], Shard]:
        return lambda: Shard(folder, number, first_stage=first_stage)

    return {f"shard-{number:02d}": Threads(make(number)) for number in range(SHARDS)}


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    return build_changed(tmp_path / "index", encoder)


@pytest.fixture
def shards(folder: Path, tmp_path: Path) -> dict[str, Threads]:
    split_index(folder, tmp_path / "shards", shards=SHARDS)
    return shards_of(tmp_path / "shards")


def backend_of(
    folder: Path, shards: dict[str, Threads], encoder: Encoder, *, form: Form = "l2", seconds: float = 10.0
) -> ShardBackend:
    version = current_version(folder)
    return ShardBackend(version, open_queries(folder, version, encoder, form=form), Scatter(shards, seconds=seconds))


def served(
    folder: Path, shards: dict[str, Threads], encoder: Encoder, *, form: Form = "l2", seconds: float = 5.0
) -> TestClient:
    backend = backend_of(folder, shards, encoder, form=form, seconds=seconds)
    service = Service(backend, Versions("idf-soft", "idf-soft"))
    return TestClient(create_app(service, hosts=()), LOCAL)


@pytest.fixture
def client(shards: dict[str, Threads], tmp_path: Path, encoder: Encoder) -> Iterator[TestClient]:
    with served(tmp_path / "shards", shards, encoder) as client:
        yield client


@pytest.fixture
def whole(folder: Path, encoder: Encoder) -> Iterator[TestClient]:
    """The index that was split, served as it is."""
    service = Service(IndexBackend(Searcher.open(folder, encoder=encoder)), Versions("idf-soft", "idf-soft"))
    with TestClient(create_app(service, hosts=()), LOCAL) as client:
        yield client


class TestTheSameInterface:
    @pytest.mark.parametrize("weights", ["current", "uniform", "idf", "idf-soft"])
    @pytest.mark.parametrize("where", [None, "number < 12", "number > 1000"])
    def test_searches_are_answered_as_by_the_index(
        self, client: TestClient, whole: TestClient, weights: str, where: str | None
    ) -> None:
        for query in (QUERY, "blue sky", "the dog barks at night", "zebra"):
            for k, least, offset in ((1, 0, 0), (5, 0.3, 0), (100, 0, 0), (5, 0, 9)):
                asked = {"query": query, "k": k, "weights": weights, "where": where, "min_score": least}
                asked["offset"] = offset
                answer, expected = client.post("/search", json=asked), whole.post("/search", json=asked)
                assert answer.content == expected.content
                assert not answer.json()["partial"]
                passing = {None: 58, "number < 12": 11, "number > 1000": 0}[where]
                assert len(answer.json()["hits"]) == min(k, max(0, passing - offset))

    def test_only_the_documents_of_a_later_page_are_sent(
        self, client: TestClient, whole: TestClient, shards: dict[str, Threads], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent, real = list[int](), Snapshot.documents

        def documents(index: Snapshot, places: Any) -> Any:
            sent.append(len(places))
            return real(index, places)

        asked = {"queries": [QUERY, "blue sky", QUERY], "k": 2, "offset": 30}
        expected = whole.post("/search/batch", json=asked)
        monkeypatch.setattr(Snapshot, "documents", documents)
        assert client.post("/search/batch", json=asked).content == expected.content
        assert sum(sent) == 4, "of two different queries"

    def test_a_shard_that_is_lost_between_the_two_questions_of_a_later_page_is_missing(
        self,
        folder: Path,
        tmp_path: Path,
        shards: dict[str, Threads],
        encoder: Encoder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def lost(*_: Any) -> None:
            raise RuntimeError("lost")

        for shard in shards["shard-01"].shards:
            monkeypatch.setattr(shard, "documents_at", lost)
        with served(tmp_path / "shards", shards, encoder, seconds=1.0) as client:
            answer = client.post("/search", json={"query": QUERY, "k": 40, "offset": 2}).json()
        assert (answer["partial"], answer["missing_shards"]) == (True, ["shard-01"])
        assert 0 < len(answer["hits"]) < 40

    @pytest.mark.parametrize("form", ["l2", "cosine"])
    @pytest.mark.parametrize("precision", ["float16", "int8", "2bit"])
    def test_whatever_the_index_keeps(self, encoder: Encoder, tmp_path: Path, form: Form, precision: str) -> None:
        index = build_changed(tmp_path / "index", encoder, precision=precision, pool=2)
        split_index(index, tmp_path / "shards", shards=SHARDS)
        searcher = Searcher.open(index, encoder=encoder, weights="idf-soft", form=form, first_stage="exhaustive")
        shards = shards_of(tmp_path / "shards", first_stage="exhaustive")
        with served(tmp_path / "shards", shards, encoder, form=form) as client:
            for query in (QUERY, "blue sky"):
                found = client.post("/search", json={"query": query, "k": 30}).json()["hits"][:29]
                assert [(one["id"], one["score"]) for one in found] == [hit[:2] for hit in searcher.search(query, k=29)]

    def test_explanations_and_re_ranked_texts_too(self, client: TestClient, whole: TestClient) -> None:
        asked: dict[str, Any]
        for status, asked in (
            (200, {"query": QUERY, "k": 4}),
            (200, {"query": QUERY, "k": 4, "where": "number < 12", "weights": "idf"}),
            (200, {"query": QUERY, "ids": ["d001", "d002", "d004", "d001"]}),
            (200, {"query": QUERY, "ids": ["d001", "d022", "empty"], "where": "number < 12"}),
            (404, {"query": QUERY, "ids": ["d003"]}),
            (400, {"query": QUERY, "where": "number <"}),
        ):
            answer, expected = client.post("/explain", json=asked), whole.post("/explain", json=asked)
            assert (answer.status_code, expected.status_code) == (status, status)
            assert answer.content == expected.content
            assert status != 200 or answer.json()["documents"]
        asked = {"query": QUERY, "documents": ["a dog", "cats sleep"]}
        results = [one.post("/rerank", json=asked).json()["results"] for one in (client, whole)]
        assert results[0] == results[1]
        assert len(results[0]) == 2

    def test_the_description_and_the_errors_are_the_same(self, client: TestClient, whole: TestClient) -> None:
        assert client.get("/openapi.json").json() == whole.get("/openapi.json").json()
        for asked in ({"query": " "}, {"query": "cat", "where": "number <"}, {"query": "cat", "typo": 1}):
            answer, expected = client.post("/search", json=asked), whole.post("/search", json=asked)
            assert (answer.status_code, answer.content) == (expected.status_code, expected.content)
        told = client.get("/health").json()
        assert (told["status"], told["documents"], told["missing_shards"]) == ("ok", 58, [])
        assert "chamfer_documents 58.0" in client.get("/metrics").text

    def test_weights_can_be_changed(self, client: TestClient, whole: TestClient) -> None:
        for one in (client, whole):
            assert one.put("/weights", json={"tokens": {"cats": 50.0}}).json()["version"] == 2
        answers = [one.post("/search", json={"query": QUERY}) for one in (client, whole)]
        assert answers[0].json() == answers[1].json()
        assert len(answers[0].json()["hits"]) == 10
        assert answers[0].json()["weights"] == 2

    def test_evaluating_is_refused_in_one_sentence(self, client: TestClient) -> None:
        judgements = [{"query": "blue sky", "relevant": ["d3"]}]
        answer = client.post("/evaluate", json={"judgements": judgements})
        assert (answer.status_code, "cannot be evaluated on shards" in answer.json()["message"]) == (409, True)
        headers = {"content-type": "application/octet-stream"}
        answer = client.post("/evaluate/file", content=b"query,document\ncat,d001\n", headers=headers)
        assert (answer.status_code, "cannot be evaluated on shards" in answer.json()["message"]) == (409, True)
        assert client.get("/evaluate").json()["refusal"] == answer.json()["message"]

    def test_learning_is_refused_in_one_sentence(self, client: TestClient) -> None:
        judgements = [{"query": QUERY, "relevant": ["d004"]}, {"query": "blue sky", "relevant": ["d001"]}]
        answer = client.post("/learn", json={"judgements": judgements})
        assert (answer.status_code, "cannot be learnt from shards" in answer.json()["message"]) == (409, True)

    def test_documents_cannot_be_changed(self, client: TestClient) -> None:
        documents = {"documents": [{"id": "a", "text": "cat"}]}
        for answer in (
            client.put("/documents", json=documents),
            client.request("DELETE", "/documents", json={"ids": ["a"]}),
        ):
            assert answer.status_code == 403
            assert answer.json()["message"].startswith("shards cannot be changed; change the index that was split, and")

    def test_no_flag_makes_them_writable(self, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder) -> None:
        service = Service(backend_of(tmp_path / "shards", shards, encoder), Versions("idf", "idf"))
        with pytest.raises(InputError, match="shards cannot be changed"):
            create_app(service, key="secret", writable=True)


def fail(replica: int) -> None:
    raise ConnectionError("the replica is gone")


class TestLosses:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scattering, "LOOK", 0.05)

    @pytest.fixture
    def client(self, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder) -> Iterator[TestClient]:
        """One that soon gives up."""
        with served(tmp_path / "shards", shards, encoder, seconds=1.0) as client:
            yield client

    def test_a_question_that_a_replica_leaves_open_is_asked_of_another(
        self, client: TestClient, whole: TestClient, shards: dict[str, Threads]
    ) -> None:
        def first_fails(replica: int) -> None:
            if replica == 0:
                raise ConnectionError("the replica is gone")

        for one in shards.values():
            one.fault = first_fails
        for _ in range(10):
            answer = client.post("/search", json={"query": QUERY})
            assert answer.content == whole.post("/search", json={"query": QUERY}).content
            assert len(answer.json()["hits"]) == 10

    def test_a_replica_that_hangs_is_passed_over(
        self, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder, whole: TestClient
    ) -> None:
        go_on = threading.Event()
        shards["shard-01"].fault = lambda replica: None if replica else (go_on.wait(20), None)[1]
        with served(tmp_path / "shards", shards, encoder, seconds=1.5) as client:
            answers = [client.post("/search", json={"query": QUERY}) for _ in range(3)]
            go_on.set()
        assert {answer.content for answer in answers} == {whole.post("/search", json={"query": QUERY}).content}
        assert len(answers[0].json()["hits"]) == 10

    def test_an_answer_without_a_shard_says_so_until_it_is_back(
        self, client: TestClient, whole: TestClient, shards: dict[str, Threads]
    ) -> None:
        complete = whole.post("/search", json={"query": QUERY, "k": 100}).json()
        shards["shard-01"].fault = fail
        answer = client.post("/search", json={"query": QUERY, "k": 100})
        found = answer.json()
        assert (answer.status_code, found["partial"], found["missing_shards"]) == (200, True, ["shard-01"])
        assert [one for one in complete["hits"] if one in found["hits"]] == found["hits"]
        lost = {one["id"] for one in complete["hits"] if owner_of(one["id"], SHARDS) == 1}
        assert len(found["hits"]) == len(complete["hits"]) - len(lost) > 0 < len(lost)
        explained = client.post("/explain", json={"query": QUERY, "k": 9}).json()
        assert (explained["partial"], explained["missing_shards"]) == (True, ["shard-01"])
        assert len(explained["documents"]) >= 9
        health = client.get("/health").json()
        assert (health["status"], health["missing_shards"]) == ("partial", ["shard-01"])
        shards["shard-01"].fault = lambda replica: None
        stop = time.monotonic() + 10
        while client.get("/health").json()["status"] != "ok" and time.monotonic() < stop:
            time.sleep(0.02)
        assert client.post("/search", json={"query": QUERY, "k": 100}).json() == complete

    def test_a_shard_that_takes_most_of_its_time_is_not_missing(
        self, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder, whole: TestClient
    ) -> None:
        shards["shard-00"].slow = lambda replica: time.sleep(0.7)
        with served(tmp_path / "shards", shards, encoder, seconds=1.2) as client:
            answer = client.post("/search", json={"query": QUERY})
        assert answer.content == whole.post("/search", json={"query": QUERY}).content
        assert len(answer.json()["hits"]) == 10

    def test_a_shard_that_hangs_takes_no_time_from_another(
        self, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder
    ) -> None:
        go_on = threading.Event()
        shards["shard-00"].fault = lambda replica: (go_on.wait(20), None)[1]
        tries = iter(range(3))

        def fails_at_first(replica: int) -> None:
            if next(tries, None) is not None:
                raise ConnectionError("the replica is gone")

        shards["shard-01"].fault = fails_at_first
        with served(tmp_path / "shards", shards, encoder, seconds=1.5) as client:
            found = client.post("/search", json={"query": QUERY, "k": 100}).json()
            go_on.set()
        assert found["missing_shards"] == ["shard-00"]
        assert {owner_of(one["id"], SHARDS) for one in found["hits"]} == {1, 2}

    def test_a_shard_whose_filter_times_out_is_not_lost(
        self, client: TestClient, shards: dict[str, Threads], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as slowly:
            slowly.setattr("chamfer.index.texts.STEPS", 1)
            slowly.setattr("chamfer.serve.service.FILTER_SECONDS", 0)
            answer = client.post("/search", json={"query": QUERY, "where": "number < 12"})
        assert (answer.status_code, answer.json()["message"]) == (
            503,
            "the filter timed out; use fewer comparisons or shorter patterns",
        )
        assert all(shard.asked <= 2 for shard in shards.values()), "it is not tried again"
        answer = client.post("/search", json={"query": QUERY, "where": "number < 12"})
        assert (answer.status_code, answer.json()["partial"]) == (200, False)

    def test_documents_of_a_missing_shard_are_not_unknown(self, client: TestClient, shards: dict[str, Threads]) -> None:
        shards["shard-01"].fault = fail
        own = next(name for name in (f"d{n:03d}" for n in range(60)) if owner_of(name, SHARDS) == 1)
        answer = client.post("/explain", json={"query": QUERY, "ids": [own]})
        assert (answer.status_code, answer.json()["missing_shards"]) == (200, ["shard-01"])
        assert answer.json()["documents"] == []

    @pytest.mark.parametrize("what_hangs", ["fault", "slow"])
    def test_nobody_waits_for_a_shard_that_is_lost_also_if_it_is_there_but_does_no_work(
        self, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder, what_hangs: str
    ) -> None:
        go_on = threading.Event()
        setattr(shards["shard-02"], what_hangs, lambda replica: (go_on.wait(20), None)[1])
        with served(tmp_path / "shards", shards, encoder, seconds=0.6) as client:
            took = []
            for _ in range(4):
                started = time.monotonic()
                found = client.post("/search", json={"query": QUERY, "k": 100}).json()
                took.append(time.monotonic() - started)
                assert found["missing_shards"] == ["shard-02"]
                assert {owner_of(one["id"], SHARDS) for one in found["hits"]} == {0, 1}
                time.sleep(0.2)  # some looks long
            go_on.set()
        assert took[0] > 0.5 > max(took[1:])

    def test_without_any_shard_there_is_no_answer(self, client: TestClient, shards: dict[str, Threads]) -> None:
        for one in shards.values():
            one.fault = fail
        answer = client.post("/search", json={"query": QUERY})
        assert (answer.status_code, "no shard answers" in answer.json()["message"]) == (503, True)
        assert client.get("/health").json()["missing_shards"] == list(shards)

    def test_a_flood_of_health_checks_asks_the_shards_once_a_second(
        self, client: TestClient, shards: dict[str, Threads]
    ) -> None:
        before, started = {name: one.asked for name, one in shards.items()}, time.monotonic()
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda _: client.get("/health").json()["status"], range(100)))
        most = 1 + (time.monotonic() - started) / RECENT_SECONDS
        assert answers == ["ok"] * 100
        assert all(0 < one.asked - before[name] <= most for name, one in shards.items())


class TestVersions:
    def test_an_answer_never_mixes_versions(self, encoder: Encoder, tmp_path: Path) -> None:
        documents = many_documents()
        for version in (1, 2, 3):  # other texts under the same ids
            texts = [one.text for one in documents[version:] + documents[:version]]
            marked = [
                Document(document.id, text, metadata={"version": version})
                for document, text in zip(documents, texts, strict=True)
            ]
            build_index(tmp_path / str(version), marked, encoder)
        expected = {}
        for version in (1, 2, 3):
            hits = Searcher.open(tmp_path / str(version), encoder=encoder, weights="idf-soft").search(QUERY, k=20)
            expected[version] = [hit[:2] for hit in hits]
        out = tmp_path / "shards"
        split_index(tmp_path / "1", out, shards=SHARDS)
        shards = shards_of(out)
        seen: set[int] = set()
        with served(out, shards, encoder) as client, ThreadPoolExecutor(4) as threads:
            stop = threading.Event()

            def ask() -> int:
                answered = 0
                while not stop.is_set():
                    found = client.post("/search", json={"query": QUERY, "k": 20}).json()
                    [version] = {one["metadata"]["version"] for one in found["hits"]}
                    assert [(one["id"], one["score"]) for one in found["hits"]] == expected[version]
                    assert not found["partial"]
                    seen.add(version)
                    answered += 1
                return answered

            asking = [threads.submit(ask) for _ in range(4)]
            try:
                for version in (2, 3):
                    split_index(tmp_path / str(version), out, shards=SHARDS)
                    patience = time.monotonic() + 20
                    while version not in seen and time.monotonic() < patience:
                        time.sleep(0.02)
            finally:
                stop.set()
            assert all(one.result() for one in asking)
        assert seen == {1, 2, 3}
        assert all(len(shard.versions) <= OPEN for one in shards.values() for shard in one.shards)

    def test_every_replica_has_opened_a_version_before_it_is_served(
        self, folder: Path, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder
    ) -> None:
        out = tmp_path / "shards"
        backend = backend_of(out, shards, encoder)
        split_index(folder, out, shards=SHARDS)
        newest = current_version(out)
        assert backend.prepare(newest).version == newest
        assert all(shard.holds(newest) for one in shards.values() for shard in one.shards)

    def test_a_shard_that_was_lost_for_two_versions_comes_back(
        self, folder: Path, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(scattering, "LOOK", 0.05)
        monkeypatch.setattr("chamfer.serve.sharded.backend.AGAIN_SECONDS", 0.05)
        out = tmp_path / "shards"
        with served(out, shards, encoder, seconds=0.5) as client:
            shards["shard-00"].fault = fail
            assert client.post("/search", json={"query": QUERY}).json()["partial"]
            for name in ("d021", "d022"):
                with writing(folder) as writer:
                    writer.delete([name])
                split_index(folder, out, shards=SHARDS)
            shards["shard-00"].fault = lambda replica: None
            stop = time.monotonic() + 20
            while client.get("/health").json()["documents"] != 56 and time.monotonic() < stop:
                time.sleep(0.05)
            while client.post("/search", json={"query": QUERY}).json()["partial"] and time.monotonic() < stop:
                time.sleep(0.05)
            found = client.post("/search", json={"query": QUERY, "k": 100}).json()
        assert (found["partial"], len(found["hits"])) == (False, 56)

    def test_a_set_that_was_made_anew_is_another(
        self, folder: Path, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder
    ) -> None:
        out = tmp_path / "shards"
        before = current_version(out)
        shutil.rmtree(out)
        with writing(folder) as writer:
            writer.delete(["d021"])
        split_index(folder, out, shards=SHARDS)
        assert current_version(out).number == before.number
        assert not shards["shard-00"].shards[0].holds(current_version(out))
        fresh = Shard(out, 0)
        with pytest.raises(InputError, match=r"version 1 in .* has been overwritten; reopen the shards"):
            fresh.prepare(before)

    def test_a_set_that_cannot_be_read_for_a_while_is_followed_again(
        self, folder: Path, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr("chamfer.serve.sharded.backend.AGAIN_SECONDS", 0.05)
        out = tmp_path / "shards"
        backend = backend_of(out, shards, encoder)
        whole = (out / "shards.json").read_bytes()
        (out / "shards.json").write_text("{")
        backend.refresh()
        (out / "shards.json").write_bytes(whole)
        split_index(folder, out, shards=SHARDS)
        stop = time.monotonic() + 10
        while backend.reader.version.number != 2 and time.monotonic() < stop:
            backend.refresh()
            time.sleep(0.02)
        assert backend.reader.version == current_version(out)

    def test_a_version_that_a_shard_cannot_open_is_not_served(
        self, folder: Path, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder, caplog: Any
    ) -> None:
        out = tmp_path / "shards"
        backend = backend_of(out, shards, encoder)
        with writing(folder) as writer:
            writer.delete(["d001"])
        split_index(folder, out, shards=SHARDS)
        (out / "00000002" / "shard-01" / "index.json").unlink()
        stop = time.monotonic() + 10
        while "cannot open version 2" not in caplog.text and time.monotonic() < stop:
            backend.refresh()
            time.sleep(0.02)
        assert "shard-01 cannot open version 2" in caplog.text
        assert (backend.reader.documents, backend.missing_shards()) == (58, [])
