"""Documents that are added, replaced and deleted over HTTP."""

import errno
import os
import shutil
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Document, Encoder, Index, InputError, build_index
from chamfer.index.manifest import read_manifest
from chamfer.index.merging import FAN
from chamfer.index.segment import SegmentWriter
from chamfer.index.writing import Writer, writing
from chamfer.serve.app import create_app
from chamfer.serve.limits import Limits
from chamfer.serve.schemas.documents import MOST_DOCUMENTS
from chamfer.serve.service import Service
from tests.conftest import DOCUMENTS

QUERY = "why do cats sleep"
LOCAL = "http://localhost"
KEY = {"authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def built(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "index"
    build_index(folder, DOCUMENTS, encoder)
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "index"))


@pytest.fixture
def served_with() -> dict[str, Any]:
    return {"key": "secret", "writable": True}


def put(client: TestClient, *documents: dict[str, Any]) -> Any:
    return client.put("/documents", json={"documents": documents})


def delete(client: TestClient, *ids: str) -> Any:
    return client.request("DELETE", "/documents", json={"ids": ids})


def found(client: TestClient, **asked: Any) -> list[str]:
    answer = client.post("/search", json={"query": QUERY, "k": 100, **asked})
    assert answer.status_code == 200, answer.text
    return [hit["id"] for hit in answer.json()["hits"]]


def number_of(folder: Path) -> int:
    manifest = read_manifest(folder)
    assert manifest is not None
    return manifest.version


def test_documents_are_added_and_replaced_in_one_commit_and_found_at_once(client: TestClient, folder: Path) -> None:
    before = number_of(folder)
    new = {"id": "new", "text": " sleep all day\n", "title": "cats", "metadata": {"year": 2024, "tags": ["a"]}}
    answer = put(client, new, {"id": "d1", "text": QUERY}, {"id": "d2", "text": DOCUMENTS["d2"]})
    counts = {"added": 1, "replaced": 1, "unchanged": 1, "truncated": 0, "unread": 0, "documents": 6}
    assert (answer.status_code, answer.json()) == (200, counts)
    assert number_of(folder) == before + 1
    hits = client.post("/search", json={"query": QUERY, "k": 1}).json()["hits"]
    assert [(hit["id"], hit["text"]) for hit in hits] == [("d1", QUERY)]
    [hit] = client.post("/search", json={"query": QUERY, "where": "year = 2024 and tags == 'a'"}).json()["hits"]
    assert (hit["id"], hit["title"], hit["text"]) == ("new", "cats", "sleep all day")
    assert hit["metadata"] == new["metadata"]
    assert client.get("/health").json()["documents"] == 6
    again = put(client, new, {"id": "d1", "text": QUERY}).json()
    assert (again["unchanged"], number_of(folder)) == (2, before + 1)
    assert put(client, {"id": "long", "text": f"{QUERY} " * 200}).json()["truncated"] == 1
    assert Index.open(folder).verify(progress=False) == []


def test_a_large_batch_is_one_commit_too(client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chamfer.index.building.CHUNK", 10)
    added, real = list[int](), Writer.add

    def counted(writer: Writer, documents: Sequence[Document], *arguments: Any, **options: Any) -> int:
        added.append(len(documents))
        return real(writer, documents, *arguments, **options)

    monkeypatch.setattr(Writer, "add", counted)
    documents = [{"id": f"n{place}", "text": f"cat {place}"} for place in range(MOST_DOCUMENTS + 1)]
    assert put(client, *documents[:100]).json()["added"] == 100
    assert added == [100]
    assert put(client, *documents).status_code == 422
    assert len(Index.open(folder)) == len(DOCUMENTS) + 100


def test_documents_are_deleted_and_unknown_ids_are_named(client: TestClient, folder: Path) -> None:
    answer = delete(client, "d1", "none", "d4", "d1")
    assert (answer.status_code, answer.json()) == (200, {"deleted": 2, "unknown": ["none"], "documents": 3})
    assert sorted(found(client)) == ["d2", "d3", "d5"]
    before = number_of(folder)
    assert delete(client, "d1").json() == {"deleted": 0, "unknown": ["d1"], "documents": 3}
    assert number_of(folder) == before
    assert delete(client, *DOCUMENTS).json()["documents"] == 0
    assert found(client) == []
    assert put(client, {"id": "d1", "text": "cat"}).json()["documents"] == 1
    assert found(client) == ["d1"]


@pytest.mark.parametrize(
    ("bad", "status", "told"),
    [
        ({"id": "b"}, 422, "documents.1.text is missing"),
        ({"id": "b", "text": 5}, 422, "documents.1.text must be a string, not 5"),
        ({"id": "b", "text": ""}, 422, "documents.1.text must not be empty"),
        ({"id": "b", "text": " \n"}, 422, "documents.1.text must not be blank"),
        ({"id": "", "text": "cat"}, 422, "documents.1.id must not be empty"),
        ({"id": 5, "text": "cat"}, 422, "documents.1.id must be a string, not 5"),
        ({"id": "b", "text": "cat", "year": 5}, 422, "year is not a known field; the known fields are id, text, title"),
        ({"id": "b", "text": "cat", "metadata": [5]}, 422, "documents.1.metadata must be an object, not [5]"),
        ({"id": "b", "text": "cat\0"}, 400, "the text of document b holds a NUL"),
        ({"id": "b", "text": "cat", "metadata": {"n": 10**400}}, 400, "document b: a number in metadata must be fini"),
        ({"id": "a", "text": "dog"}, 409, "document 'a' is sent twice; send each id once"),
    ],
)
def test_one_bad_document_stores_nothing_and_loses_nothing(
    client: TestClient, folder: Path, bad: dict[str, Any], status: int, told: str
) -> None:
    before = number_of(folder)
    answer = put(client, {"id": "a", "text": "cat"}, bad, {"id": "d1", "text": "other"})
    assert (answer.status_code, told in answer.json()["message"]) == (status, True), answer.text
    assert number_of(folder) == before
    assert sorted(found(client)) == sorted(DOCUMENTS)


def test_a_commit_that_fails_stores_nothing(client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    before = number_of(folder)
    with monkeypatch.context() as patched:
        patched.setattr("chamfer.index.writing.write_manifest", fail)
        for answer in (put(client, {"id": "a", "text": "cat"}), delete(client, "d1")):
            assert (answer.status_code, "the disk of the server is full" in answer.json()["message"]) == (507, True)
            assert str(folder) not in answer.text
    assert (number_of(folder), sorted(found(client))) == (before, sorted(DOCUMENTS))
    assert put(client, {"id": "a", "text": "cat"}).status_code == 200
    assert Index.open(folder).verify(progress=False) == []


def test_searches_in_flight_keep_their_commit(client: TestClient, service: Service) -> None:
    reader = service.backend.reader
    queries = reader.queries.encode([QUERY], "uniform")

    def ids() -> list[str]:
        [ranked] = reader.find([queries], 100, None).rankings
        return [document.id for document in ranked.documents]

    before = ids()
    assert delete(client, "d1", "d3").json()["deleted"] == 2
    assert put(client, {"id": "d2", "text": QUERY}, {"id": "new", "text": QUERY}).status_code == 200
    assert ids() == before
    assert sorted(found(client)) == ["d2", "d4", "d5", "new"]


def test_changes_at_once_wait_for_each_other(client: TestClient, folder: Path) -> None:
    def change(number: int) -> int:
        document = {"id": f"n{number}", "text": f"{QUERY} {number}"}
        return int(put(client, document).status_code)

    with ThreadPoolExecutor(6) as threads:
        assert set(threads.map(change, range(6))) == {200}
    assert len(found(client)) == len(DOCUMENTS) + 6
    assert Index.open(folder).verify(progress=False) == []


def test_another_writer_is_told_of(client: TestClient, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with writing(folder):
        for answer in (put(client, {"id": "a", "text": "cat"}), delete(client, "d1")):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json() == {"message": "another process is changing the index; try again later"}
    assert caplog.records == []
    assert delete(client, "d1").status_code == 200


def test_an_index_that_is_gone_is_told_of_without_its_path(
    client: TestClient, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.rename(folder.with_name("away"))
    answer = put(client, {"id": "a", "text": "cat"})
    assert (answer.status_code, answer.json()["message"]) == (
        503,
        "the index cannot be changed; the log of the server has the reason",
    )
    assert f"documents cannot be changed: {folder} holds no index" in caplog.text
    assert not folder.exists()


def test_nothing_is_stored_for_a_client_that_was_told_of_a_timeout(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded, go_on, real = threading.Event(), threading.Event(), Encoder.encode

    def slow(*arguments: Any) -> Any:
        encoded.set()
        go_on.wait(10)
        return real(*arguments)

    before = number_of(folder)
    app = create_app(service, key="secret", writable=True, limits=Limits(changing_seconds=0.2))
    with TestClient(app, LOCAL, headers=KEY) as client:
        with monkeypatch.context() as patched:
            patched.setattr(Encoder, "encode", slow)
            answer = put(client, {"id": "a", "text": "cat"})
            assert (answer.status_code, encoded.is_set()) == (503, True)
            go_on.set()
            patience = time.monotonic() + 10
            while delete(client, "none").status_code != 200 and time.monotonic() < patience:
                pass  # it waits for the lock of the first
        assert number_of(folder) == before
        assert sorted(found(client)) == sorted(DOCUMENTS)


def test_nothing_is_stored_if_time_is_up_just_before_the_commit(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, real = threading.Event(), SegmentWriter.finish

    def slow(writer: SegmentWriter) -> Any:
        go_on.wait(10)
        return real(writer)

    before = number_of(folder)
    app = create_app(service, key="secret", writable=True, limits=Limits(changing_seconds=2))
    with TestClient(app, LOCAL, headers=KEY) as client:
        monkeypatch.setattr(SegmentWriter, "finish", slow)
        assert put(client, {"id": "a", "text": "cat"}).status_code == 503
        go_on.set()
        patience = time.monotonic() + 10
        while delete(client, "none").status_code != 200 and time.monotonic() < patience:
            pass  # it waits for the lock of the first
        assert number_of(folder) == before
        assert put(client, {"id": "a", "text": "cat"}).status_code == 200
    assert Index.open(folder).verify(progress=False) == []


def test_segments_are_merged_after_the_answer(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, real = threading.Event(), Writer.merge_small

    def slow(writer: Writer) -> None:
        go_on.wait(10)
        real(writer)

    def segments() -> int:
        manifest = read_manifest(folder)
        assert manifest is not None
        return len(manifest.segments)

    monkeypatch.setattr(Writer, "merge_small", slow)
    began = time.monotonic()
    for place in range(1, FAN):  # beside the segment that was built
        assert put(client, {"id": f"n{place}", "text": "cat"}).status_code == 200
    assert (time.monotonic() - began < 10, segments()) == (True, FAN)
    go_on.set()
    while segments() == FAN and time.monotonic() - began < 20:
        time.sleep(0.01)
    assert segments() == 1
    assert put(client, {"id": "last", "text": "cat"}).json()["documents"] == len(DOCUMENTS) + FAN
    assert Index.open(folder).verify(progress=False) == []


def test_documents_of_many_tokens_are_sent_in_parts(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chamfer.serve.documents.CHUNK_TOKENS", 20)
    documents = [{"id": f"n{place}", "text": QUERY} for place in range(9)]
    answer = put(client, *documents)
    assert (answer.status_code, "send at most 20 at a time" in answer.json()["message"]) == (413, True), answer.text
    assert put(client, *documents[:2]).status_code == 200


class TestWhoMay:
    def test_the_key_and_the_flag_are_needed(self, service: Service, folder: Path) -> None:
        with pytest.raises(InputError, match="a server that changes documents needs an API key"):
            create_app(service, writable=True)
        document = {"id": "a", "text": "cat"}
        with TestClient(create_app(service, key="secret", writable=True), LOCAL) as stranger:
            assert [put(stranger, document).status_code, delete(stranger, "d1").status_code] == [401, 401]
        with TestClient(create_app(service, key="secret"), LOCAL, headers=KEY) as client:
            for answer in (put(client, document), delete(client, "d1"), put(client)):
                assert (answer.status_code, "start it with chamfer serve --writable" in answer.text) == (403, True)
        assert len(Index.open(folder)) == len(DOCUMENTS)

    def test_only_json_is_read(self, client: TestClient) -> None:
        answer = client.request(
            "DELETE", "/documents", content='{"ids": ["d1"]}', headers={"content-type": "text/plain"}
        )
        assert answer.status_code == 415
        assert client.request("DELETE", "/documents").status_code == 415
        answer = client.request("DELETE", "/documents", json={"ids": ["d" * 900] * 9000})
        assert (answer.status_code, "4 MB" in answer.json()["message"]) == (413, True)

    def test_no_writer_is_needed_to_read(self, service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Writer, "__init__", None)
        with TestClient(create_app(service, key="secret", writable=True), LOCAL, headers=KEY) as client:
            assert found(client)
