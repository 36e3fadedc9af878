"""Shards on Ray: replicas are processes, and tests kill them."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")
pytest.importorskip("ray", reason="the extra chamfer[ray] is not installed")

from starlette.testclient import TestClient

from chamfer import Encoder, Index, Searcher
from chamfer.client import answers
from chamfer.index.shards import current_version, version_folder
from chamfer.index.splitting import split_index
from chamfer.index.writing import writing
from chamfer.serve.app import create_app
from chamfer.serve.service import Service
from chamfer.serve.sharded.backend import ShardBackend
from chamfer.serve.sharded.deployments import RayReplicas, deployed
from chamfer.serve.sharded.head import open_queries
from chamfer.serve.sharded.scatter import Scatter
from chamfer.serve.single import IndexBackend
from chamfer.serve.versions import Versions
from tests.test_shards import build_changed

# Ray leaves files and sockets to the end of the process.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("estimated_at_once")]

QUERIES = ("why do cats sleep", "blue sky", "the dog barks at night")
LOCAL = "http://localhost"
PATIENCE = 60.0


@pytest.fixture(scope="module")
def folder(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_changed(tmp_path_factory.mktemp("ray") / "index", encoder)


@pytest.fixture(scope="module")
def shards(folder: Path) -> Iterator[dict[str, RayReplicas]]:
    split_index(folder, folder.parent / "shards", shards=2)
    with deployed(folder.parent / "shards", replicas=2, cpus=0.1) as shards:
        yield shards


def backend_of(folder: Path, shards: dict[str, RayReplicas], encoder: Encoder, seconds: float) -> ShardBackend:
    version = current_version(folder)
    return ShardBackend(version, open_queries(folder, version, encoder), Scatter(shards, seconds=seconds))


@pytest.fixture(scope="module")
def client(folder: Path, shards: dict[str, RayReplicas], encoder: Encoder) -> Iterator[TestClient]:
    service = Service(backend_of(folder.parent / "shards", shards, encoder, 20), Versions("idf-soft", "idf-soft"))
    with TestClient(create_app(service, hosts=()), LOCAL) as client:
        yield client


def by_the_index(folder: Path, encoder: Encoder) -> dict[str, Any]:
    service = Service(IndexBackend(Searcher.open(folder, encoder=encoder)), Versions("idf-soft", "idf-soft"))
    with TestClient(create_app(service, hosts=()), LOCAL) as whole:
        found = {query: whole.post("/search", json={"query": query, "k": 20}).json() for query in QUERIES}
    assert all(len(answer["hits"]) == 20 for answer in found.values())
    return found


def same(answer: Any, expected: Any) -> bool:
    """Whether answers are equal but for the last bits of scores, which depend on the batch a query is encoded in."""
    if not isinstance(answer, dict) or answer["partial"]:
        return False
    hits, wanted = answer["hits"], expected["hits"]
    close = [one["score"] for one in hits] == pytest.approx([one["score"] for one in wanted], abs=1e-6)
    return close and [one["id"] for one in hits] == [one["id"] for one in wanted]


def processes(replicas: RayReplicas, wanted: int = 2) -> set[int]:
    """The processes of all replicas of a shard."""
    found: set[int] = set()
    stop = time.monotonic() + PATIENCE
    while len(found) < wanted and time.monotonic() < stop:
        found.add(replicas.ask("about", 1).result(timeout_s=PATIENCE)[0])
    assert len(found) >= wanted, f"only {len(found)} of {wanted} replicas answer"
    return found


def wait_until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    stop = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < stop, f"waited {seconds:g} seconds for {what}"
        time.sleep(0.05)


class Asking:
    """Searches from several threads until it is stopped, and keeps every answer."""

    def __init__(self, client: TestClient) -> None:
        self.answers: list[tuple[str, Any]] = []
        self._client, self._stop = client, threading.Event()
        self._threads = ThreadPoolExecutor(4)
        self._asking = [self._threads.submit(self._ask, number) for number in range(4)]

    def _ask(self, number: int) -> None:
        while not self._stop.is_set():
            query = QUERIES[(len(self.answers) + number) % len(QUERIES)]
            answer = self._client.post("/search", json={"query": query, "k": 20})
            self.answers.append((query, answer.json() if answer.status_code == 200 else answer.text))

    def some_more(self, count: int = 20) -> None:
        wanted = len(self.answers) + count
        wait_until(lambda: len(self.answers) >= wanted, f"{count} more answers")

    def end(self) -> None:
        self._stop.set()
        for one in self._asking:
            one.result()


def test_answers_are_those_of_the_index(client: TestClient, folder: Path, encoder: Encoder) -> None:
    for query, expected in by_the_index(folder, encoder).items():
        assert client.post("/search", json={"query": query, "k": 20}).json() == expected
    hits = Searcher.open(folder, encoder=encoder, weights="mix").search(QUERIES[0], 20)
    mixed = client.post("/search", json={"query": QUERIES[0], "k": 20, "weights": "mix"}).json()
    assert [(one["id"], one["score"]) for one in mixed["hits"]] == [hit[:2] for hit in hits]
    assert client.get("/health").json()["status"] == "ok"
    assert answers.fields(client.get("/index").json()) == Index.open(folder).fields()


def test_a_killed_replica_is_not_noticed(
    client: TestClient, shards: dict[str, RayReplicas], folder: Path, encoder: Encoder
) -> None:
    expected = by_the_index(folder, encoder)
    asking = Asking(client)
    for name in shards:
        asking.some_more()
        os.kill(processes(shards[name]).pop(), signal.SIGKILL)
        asking.some_more()
    asking.end()
    assert [answer for query, answer in asking.answers if not same(answer, expected[query])] == []


def test_versions_are_switched_on_all_shards_at_once(
    client: TestClient, shards: dict[str, RayReplicas], folder: Path, encoder: Encoder
) -> None:
    before = by_the_index(folder, encoder)
    with writing(folder) as writer:
        writer.delete([f"d{number:03d}" for number in range(20, 30)])
    after = by_the_index(folder, encoder)
    asking = Asking(client)
    asking.some_more()
    split_index(folder, folder.parent / "shards", shards=2)
    left = len(Searcher.open(folder, encoder=encoder))
    wait_until(lambda: client.get("/health").json()["documents"] == left, "the new version")
    asking.some_more()
    asking.end()
    assert [
        answer for query, answer in asking.answers if not same(answer, before[query]) and not same(answer, after[query])
    ] == []
    assert client.post("/search", json={"query": QUERIES[0], "k": 20}).json() == after[QUERIES[0]]


def test_a_shard_that_is_gone_is_named_and_comes_back(
    shards: dict[str, RayReplicas], folder: Path, encoder: Encoder
) -> None:
    out = folder.parent / "shards"
    service = Service(backend_of(out, shards, encoder, 3), Versions("idf", "idf"))
    hidden = version_folder(out, current_version(out).number) / "shard-01"
    with TestClient(create_app(service, hosts=()), LOCAL) as client:
        complete = client.post("/search", json={"query": QUERIES[0], "k": 100}).json()
        assert not complete["partial"]
        alive = processes(shards["shard-01"])
        hidden.rename(hidden.with_name("hidden"))  # so that replicas that Ray restarts cannot open it
        for process in alive:
            os.kill(process, signal.SIGKILL)
        answer = client.post("/search", json={"query": QUERIES[0], "k": 100})
        found = answer.json()
        assert (answer.status_code, found["partial"], found["missing_shards"]) == (200, True, ["shard-01"])
        assert 0 < len(found["hits"]) < len(complete["hits"])
        assert client.get("/health").json()["missing_shards"] == ["shard-01"]
        described = client.get("/index").json()
        assert (described["partial"], described["missing_shards"]) == (True, ["shard-01"])
        hidden.with_name("hidden").rename(hidden)
        wait_until(lambda: client.get("/health").json()["status"] == "ok", "the shard", 2 * PATIENCE)
        assert client.post("/search", json={"query": QUERIES[0], "k": 100}).json() == complete
