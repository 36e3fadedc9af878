"""What a server says when the folder that it serves is gone, unreadable, replaced or broken."""

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Client, Document, Encoder, Searcher, build_index
from chamfer.errors import InputWarning
from chamfer.index import building
from chamfer.index.adding import add_documents
from chamfer.index.splitting import split_index
from chamfer.index.writing import Writer, writing
from chamfer.serve.app import create_app
from chamfer.serve.limits import Limits
from chamfer.serve.service import Service
from chamfer.serve.single import service_of
from chamfer.serve.state import OVERDUE, OVERDUE_SECONDS, State
from chamfer.serve.versions import Versions
from tests import checkpoints
from tests.conftest import DOCUMENTS
from tests.test_index_derived import as_another_user
from tests.test_serve_sharded import SHARDS, backend_of, shards_of
from tests.threaded_server import serving

QUERY = "why do cats sleep"
LOCAL = "http://localhost"


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_mode & 0o777 == 0o700:  # pytest's own folders, which another user must enter
            path.chmod(0o755)
    return tmp_path / "index"


@pytest.fixture
def service(folder: Path, encoder: Encoder) -> Service:
    return service_of(Searcher.open(folder, encoder=encoder))


@pytest.fixture
def client(service: Service) -> TestClient:
    return TestClient(create_app(service), LOCAL)  # not entered, so that nothing else refreshes


@pytest.fixture
def shards(folder: Path, tmp_path: Path) -> Path:
    split_index(folder, tmp_path / "shards", shards=SHARDS)
    return tmp_path / "shards"


@pytest.fixture
def sharded(shards: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr("chamfer.serve.sharded.backend.AGAIN_SECONDS", 0.0)
    return Service(backend_of(shards, shards_of(shards), encoder), Versions("mix", "mix"))


def said(service: Service, client: TestClient) -> tuple[int, str, str | None]:
    """The code, the status and the problem of ``/health``, after everything else was found to agree with them."""
    service.backend.refresh()
    answer = client.get("/health")
    told = answer.json()
    problem: str | None = told["problem"]
    notes = [] if problem is None else [f"these results may be out of date: {problem}"]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/search", {"query": QUERY}),
        ("/explain", {"query": QUERY}),
    ]
    for path, body in asked:
        found = client.post(path, json=body)
        assert found.status_code == 200, found.text
        assert (found.json()["stale"], found.json()["notes"]) == (problem is not None, notes)
        assert found.json().get("hits") or found.json()["documents"]
    [batch] = client.post("/search/batch", json={"queries": [QUERY]}).json()["results"]
    assert (batch["stale"], batch["notes"]) == (problem is not None, notes)
    described = client.get("/index").json()
    assert (described["stale"], described["notes"]) == (problem is not None, notes)
    meta = client.post("/rerank", json={"query": QUERY, "documents": ["a"]}).json()["meta"]
    assert meta.get("warnings", []) == notes
    for text in (answer.text, found.text):
        assert "Traceback" not in text
        assert "/tmp" not in text
    return answer.status_code, told["status"], problem


def away(folder: Path) -> None:
    folder.rename(folder.with_name("away"))


def emptied(folder: Path) -> None:
    away(folder)
    folder.mkdir()


def a_file(folder: Path) -> None:
    away(folder)
    folder.write_text("not an index")


def without_manifest(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("away"))
    (folder / "index.json").unlink()


def cut(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("away"))
    (folder / "index.json").write_text("{")


def without_segments(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("away"))
    shutil.rmtree(folder / "segments")


def unfinished(folder: Path) -> None:
    """A new build that was interrupted."""
    away(folder)
    add, calls = Writer.add_rows, list[int]()

    def twice(*arguments: Any, **named: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        add(*arguments, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(building, "CHUNK", 2)
        patched.setattr(Writer, "add_rows", twice)
        with pytest.raises(OSError, match="No space left"):
            build_index(folder, DOCUMENTS, Encoder.load(str(folder.with_name("other"))))


def of_another_model(folder: Path) -> None:
    away(folder)
    build_index(folder, {"x": QUERY}, Encoder.load(str(folder.with_name("other"))))


EVENTS: list[tuple[Callable[[Path], None], int, str, str]] = [
    (away, 503, "failing", "the index folder is gone"),
    (emptied, 503, "failing", "the index folder holds no index any more"),
    (a_file, 503, "failing", "the index folder holds no index any more"),
    (without_manifest, 503, "failing", "the index folder holds no index any more"),
    (without_segments, 503, "failing", "files of the index are gone"),
    (cut, 200, "stale", "the newest commit of the index cannot be opened"),
    (unfinished, 200, "stale", "the index is being built again, and the one before it is served until then"),
    (of_another_model, 200, "stale", "the index was replaced by one of another model; restart the server"),
]


@pytest.mark.parametrize(("event", "code", "status", "problem"), EVENTS, ids=lambda one: getattr(one, "__name__", None))
def test_every_answer_says_what_happened_to_the_folder_until_it_is_back(
    service: Service,
    client: TestClient,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    event: Callable[[Path], None],
    code: int,
    status: str,
    problem: str,
) -> None:
    (folder.with_name("other")).mkdir()
    checkpoints.make_plain(folder.with_name("other"), seed=9)
    assert said(service, client) == (200, "ok", None)
    event(folder)
    caplog.clear()
    for _ in range(2):
        assert said(service, client) == (code, status, problem)
    assert [problem in record.message for record in caplog.records] == [True], "the log says it once"
    shutil.rmtree(folder, ignore_errors=True)
    folder.unlink(missing_ok=True)
    folder.with_name("away").rename(folder)
    assert said(service, client) == (200, "ok", None)


def test_a_folder_that_another_index_of_the_same_model_replaced_is_followed(
    service: Service, client: TestClient, folder: Path, encoder: Encoder
) -> None:
    shutil.rmtree(folder)
    build_index(folder, {"new": QUERY}, encoder)
    assert said(service, client) == (200, "ok", None)
    assert [hit["id"] for hit in client.post("/search", json={"query": QUERY}).json()["hits"]] == ["new"]
    assert (client.get("/health").json()["documents"], client.get("/index").json()["documents"]) == (1, 1)


@pytest.mark.parametrize("what", ["index.json", ".", "segments"])
def test_a_folder_that_may_not_be_read_any_more_is_called_unreadable(
    service: Service, client: TestClient, folder: Path, what: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    assert said(service, client) == (200, "ok", None)
    path = folder / what
    mode = path.stat().st_mode
    path.chmod(0)
    with as_another_user():
        assert said(service, client) == (200, "stale", "the index folder cannot be read by the server")
    path.chmod(mode)
    with as_another_user():
        assert said(service, client) == (200, "ok", None)


def test_a_new_commit_that_may_not_be_read_is_not_served_and_said_so(
    service: Service, client: TestClient, folder: Path, encoder: Encoder
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    assert said(service, client) == (200, "ok", None)
    with writing(folder) as writer:
        add_documents(writer, [Document("new", QUERY)], encoder)
    for path in folder.glob("segments/*/documents.sqlite"):
        path.chmod(0)
    with as_another_user():
        assert said(service, client) == (200, "stale", "the index folder cannot be read by the server")
        assert client.get("/health").json()["documents"] == len(DOCUMENTS)


def test_the_age_is_the_time_since_the_newest_commit_was_served(
    service: Service, client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def age() -> float:
        seconds: float = client.get("/health").json()["age_seconds"]
        return seconds

    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    service.backend.refresh()
    now += 20
    assert age() == 20
    service.backend.refresh()
    assert age() == 0
    away(folder)
    now += 30
    service.backend.refresh()
    assert (age(), client.get("/health").json()["status"]) == (30, "failing")


def test_a_server_that_cannot_check_its_index_calls_it_stale_after_a_minute(
    service: Service, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    service.backend.refresh()
    now += OVERDUE_SECONDS + 1
    told = client.get("/health").json()
    assert (told["status"], told["problem"]) == ("stale", OVERDUE)
    assert client.post("/search", json={"query": QUERY}).json()["stale"]
    assert said(service, client) == (200, "ok", None)


def test_a_state_that_nobody_follows_is_not_overdue(monkeypatch: pytest.MonkeyPatch) -> None:
    state, now = State(), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 2 * OVERDUE_SECONDS)
    assert state.problem is None


def test_an_unexpected_error_does_not_end_the_checks(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("chamfer.serve.app.REFRESH_SECONDS", 0.01)
    real, failures = service.backend.refresh, [RuntimeError("a bug"), OSError(5, "Input/output error")]

    def refresh() -> None:
        if failures:
            raise failures.pop(0)
        real()

    monkeypatch.setattr(service.backend, "refresh", refresh)
    with TestClient(create_app(service), LOCAL) as client:
        away(folder)
        stop = time.monotonic() + 20
        while client.get("/health").status_code == 200 and time.monotonic() < stop:
            time.sleep(0.01)
        assert client.get("/health").json()["problem"] == "the index folder is gone"
    assert [record.levelno for record in caplog.records[:2]] == [logging.WARNING] * 2
    assert [bool(record.exc_info) for record in caplog.records[:2]] == [True, False], "only a bug has a traceback"


def test_a_running_server_whose_folder_is_deleted_warns_its_clients(service: Service, folder: Path) -> None:
    with serving(create_app(service), Limits()) as server, Client(server.url) as client:
        assert client.search(QUERY)
        shutil.rmtree(folder)
        stop = time.monotonic() + 20
        while service.backend.problem is None and time.monotonic() < stop:
            time.sleep(0.05)
        note = "these results may be out of date: the index folder is gone"
        for ask in (
            lambda: client.search(QUERY),
            lambda: client.explain(QUERY),
            lambda: client.rerank(QUERY, ["a"]),
            client.fields,
        ):
            with pytest.warns(InputWarning, match=note):
                assert ask() is not None


def shards_cut(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("away"))
    (folder / "shards.json").write_text("{")


class TestShards:
    @pytest.fixture
    def client(self, sharded: Service) -> Iterator[TestClient]:
        yield TestClient(create_app(sharded), LOCAL)
        sharded.backend.close()

    @pytest.mark.parametrize(
        ("event", "code", "status", "problem"),
        [
            (away, 503, "failing", "the folder of the shards is gone"),
            (emptied, 503, "failing", "the folder of the shards holds none any more"),
            (shards_cut, 200, "stale", "the new version cannot be served yet"),
        ],
    )
    def test_every_answer_says_what_happened_to_the_folder(
        self,
        sharded: Service,
        client: TestClient,
        shards: Path,
        event: Callable[[Path], None],
        code: int,
        status: str,
        problem: str,
    ) -> None:
        assert said(sharded, client) == (200, "ok", None)
        event(shards)
        assert said(sharded, client) == (code, status, problem)
        shutil.rmtree(shards, ignore_errors=True)
        shards.with_name("away").rename(shards)
        assert said(sharded, client) == (200, "ok", None)

    def test_a_folder_that_may_not_be_read_any_more_is_called_unreadable(
        self, sharded: Service, client: TestClient, shards: Path
    ) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root can become another user")
        assert said(sharded, client) == (200, "ok", None)
        shards.chmod(0)
        with as_another_user():
            assert said(sharded, client) == (200, "stale", "the folder of the shards cannot be read by the server")

    def test_shards_of_another_model_are_not_served(
        self, sharded: Service, client: TestClient, shards: Path, tmp_path: Path
    ) -> None:
        checkpoints.make_plain(tmp_path, seed=9)
        build_index(tmp_path / "different", DOCUMENTS, Encoder.load(str(tmp_path)))
        split_index(tmp_path / "different", shards, shards=SHARDS)
        stop = time.monotonic() + 20
        while sharded.backend.problem is None and time.monotonic() < stop:
            sharded.backend.refresh()
            time.sleep(0.02)
        problem = "the shards were replaced by those of another model; restart the server"
        assert (sharded.backend.problem or ("", ""))[:2] == ("stale", problem)

    def test_a_new_version_that_takes_long_to_open_makes_answers_stale(
        self, sharded: Service, client: TestClient, shards: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(type(sharded.backend), "prepare", lambda *_: time.sleep(20))
        sharded.backend.refresh()
        split_index(folder, shards, shards=SHARDS)
        sharded.backend.refresh()
        assert client.get("/health").json()["status"] == "ok", "a version may take a while"
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + OVERDUE_SECONDS + 1)
        told = client.get("/health").json()
        assert (told["status"], told["problem"]) == ("stale", OVERDUE)
        assert client.post("/search", json={"query": QUERY}).json()["stale"]

    def test_a_lost_shard_is_named_and_nothing_is_stale(
        self, shards: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(replica: int) -> None:
            raise ConnectionError("killed")

        replicas = shards_of(shards)
        replicas["shard-02"].fault = fail
        service = Service(backend_of(shards, replicas, encoder, seconds=0.5), Versions("mix", "mix"))
        client = TestClient(create_app(service), LOCAL)
        service.backend.refresh()
        told = client.get("/health").json()
        assert (told["status"], told["problem"], told["missing_shards"]) == ("partial", None, ["shard-02"])
        found = client.post("/search", json={"query": QUERY}).json()
        assert (found["partial"], found["missing_shards"], found["stale"]) == (True, ["shard-02"], False)
        assert client.get("/index").json()["missing_shards"] == ["shard-02"]
        service.backend.close()
