"""``/index``: what the server says of its index is what the library says, on shards too, and after every change."""

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import AsyncClient, Client, Document, Encoder, Index, InputError, Searcher, build_index
from chamfer.errors import InputWarning
from chamfer.index import field_writing
from chamfer.index.shards import owner_of
from chamfer.index.splitting import split_index
from chamfer.serve import description
from chamfer.serve.app import create_app
from chamfer.serve.limits import Limits
from chamfer.serve.service import Service
from chamfer.serve.state import DAMAGED
from tests.conftest import DOCUMENTS
from tests.test_passages import LENGTH, OVERLAP, corpus
from tests.test_serve_documents import KEY, LOCAL, delete, put
from tests.test_serve_sharded import SHARDS, fail, served, shards_of
from tests.threaded_server import serving

QUERY = "why do cats sleep"


def documents() -> list[Document]:
    return [
        Document(name, text, metadata={"length": len(text), "tags": text.split()[:2], "day": f"2024-01-0{place + 1}"})
        for place, (name, text) in enumerate(DOCUMENTS.items())
    ]


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    build_index(tmp_path / "index", documents(), encoder)
    return tmp_path / "index"


@pytest.fixture
def served_with() -> dict[str, Any]:
    return {"key": "secret", "writable": True}


def asked(client: TestClient, path: str = "/index") -> dict[str, Any]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_it_says_what_the_index_holds(client: TestClient, folder: Path, encoder: Encoder) -> None:
    found, index = asked(client), Index.open(folder)
    assert (found["name"], found["documents"], found["passages"]) == ("index", len(DOCUMENTS), None)
    assert found["encoder"] == Path(encoder.name).name
    assert (found["fields_are_complete"], found["partial"], found["stale"]) == (True, False, False)
    fields = {field["name"]: field for field in found["fields"]}
    assert fields["day"]["kind"] == "date"
    assert (fields["day"]["lowest"], fields["day"]["highest"]) == ("2024-01-01", "2024-01-05")
    assert fields["tags"]["several"]
    assert fields["tags"]["values"][0] == {"value": "is", "documents": 2}
    expected = [field._asdict() | {"values": [one._asdict() for one in field.values]} for field in index.fields()]
    assert found["fields"] == expected
    assert found["example_queries"] == index.example_queries()
    assert len(asked(client, "/index?values=1")["fields"][0]["values"]) == 1


def test_values_keep_their_types(encoder: Encoder, tmp_path: Path) -> None:
    given: list[Any] = [True, 1, 1.5, "1", 2**60]
    build_index(tmp_path, [Document(str(n), "cat", metadata={"v": value}) for n, value in enumerate(given)], encoder)
    with TestClient(create_app(Searcher.open(tmp_path, encoder=encoder)), LOCAL) as client:
        [field] = asked(client)["fields"]
    assert field["kind"] == "mixed"
    values = [one["value"] for one in field["values"]]
    assert [(type(value), value) for value in values] == [(type(v), v) for v in (1, 1.5, 2**60, True, "1")]


def test_documents_that_are_added_and_deleted_over_http_count_at_the_next_request(
    client: TestClient, folder: Path
) -> None:
    assert asked(client)["documents"] == 5
    new = {"id": "new", "text": "a new cat", "title": "New cats", "metadata": {"lang": "en", "length": 9}}
    assert put(client, new).status_code == 200
    found = asked(client)
    assert found["documents"] == 6
    assert [field["name"] for field in found["fields"]] == ["length", "day", "tags", "lang"]
    assert "New cats" in found["example_queries"]
    assert put(client, {"id": "d1", "text": "other"}).status_code == 200
    assert delete(client, "d2", "new").status_code == 200
    fields = {field["name"]: field for field in asked(client)["fields"]}
    assert {name: field["documents"] for name, field in fields.items()} == {"day": 3, "length": 3, "tags": 3}
    assert fields["day"]["lowest"] == "2024-01-03"
    assert [field.name for field in Index.open(folder).fields()] == list(fields)


def test_a_flood_of_requests_is_answered_from_memory(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    real = description.describe

    def counted(*given: Any) -> Any:
        made.append(given[-1])
        return real(*given)

    monkeypatch.setattr(description, "describe", counted)
    first = asked(client)
    assert [asked(client) for _ in range(20)] == [first] * 20
    assert made == [20]
    for values in (*range(10), 20, 9):
        asked(client, f"/index?values={values}")
    assert made == [20, *range(10), 20], "few are kept"
    assert put(client, {"id": "new", "text": "a new cat"}).status_code == 200
    assert asked(client)["documents"] == 6


def test_documents_in_passages_count_once(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "index", corpus(), encoder, passages=LENGTH, overlap=OVERLAP)
    index = Index.open(tmp_path / "index")
    with TestClient(create_app(Searcher.open(index, encoder=encoder)), LOCAL) as client:
        found = asked(client)
    assert (found["documents"], found["passages"]) == (12, index.snapshot.manifest.rows)
    assert [field["documents"] for field in found["fields"]] == [12, 12]
    split_index(tmp_path / "index", tmp_path / "shards", shards=SHARDS)
    with served(tmp_path / "shards", shards_of(tmp_path / "shards"), encoder) as client:
        sharded = asked(client)
    assert (sharded["documents"], sharded["passages"]) == (12, index.snapshot.manifest.rows)
    assert sharded["fields"] == found["fields"]


class TestRefusals:
    def test_the_key_is_needed_as_for_a_search(self, service: Service) -> None:
        with TestClient(create_app(service, key="secret"), LOCAL) as stranger:
            answer = stranger.get("/index")
            assert (answer.status_code, "API key" in answer.json()["message"]) == (401, True)
            assert stranger.get("/index", headers=KEY).status_code == 200

    @pytest.mark.parametrize(
        ("path", "told"),
        [
            ("/index?values=-1", "values must be at least 0, not -1"),
            ("/index?values=101", "values must be at most 100, not 101"),
            ("/index?values=many", 'values must be a whole number, not "many"'),
            ("/index?values=" + "9" * 5000, "values must be a smaller number"),
        ],
    )
    def test_impossible_numbers_of_values_are_refused_in_one_sentence(
        self, client: TestClient, path: str, told: str
    ) -> None:
        answer = client.get(path)
        assert (answer.status_code, answer.json()["message"].startswith(told)) == (422, True), answer.text
        assert len(answer.text) < 500

    def test_other_methods_are_refused(self, client: TestClient) -> None:
        answer = client.post("/index", json={})
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
        assert client.head("/index").status_code == 200

    def test_it_is_described(self, client: TestClient) -> None:
        described = client.get("/openapi.json").json()
        assert "example queries" in described["paths"]["/index"]["get"]["summary"]
        assert set(described["components"]["schemas"]) >= {"IndexResponse", "MetadataField", "FieldValue"}

    def test_hostile_metadata_makes_no_large_answer(self, client: TestClient) -> None:
        hostile = [
            {"id": "names", "text": "cat", "metadata": {f"name {n}": n for n in range(5000)}},
            {"id": "long", "text": "cat", "metadata": {"x" * 100_000: "y" * 100_000, "<script>": ["<b>"] * 1000}},
            {"id": "odd", "text": "cat", "metadata": {"": "", "a\nb": "\u202e", "n": [10**400 // 10**300, -0.0]}},
        ]
        for document in hostile:
            assert put(client, document).status_code == 200
        answer = client.get("/index?values=100")
        assert answer.status_code == 200
        assert len(answer.content) < 1 << 20
        assert answer.json()["fields_are_complete"] is False
        assert [field["name"] for field in answer.json()["fields"]] == ["day", "length", "tags"]


def test_searches_do_not_wait_for_the_count(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on, real = threading.Event(), threading.Event(), field_writing.write_places

    def slow(*arguments: Any) -> None:
        began.set()
        go_on.wait(20)
        real(*arguments)

    monkeypatch.setattr("chamfer.index.field_places.write_places", slow)
    with TestClient(create_app(service), LOCAL) as client:
        counting = threading.Thread(target=asked, args=(client,))
        counting.start()
        assert began.wait(10)
        assert client.post("/search", json={"query": QUERY}).json()["hits"]
        assert counting.is_alive()
        go_on.set()
        counting.join(20)


def test_a_damaged_index_is_told_of_in_one_sentence(service: Service, folder: Path) -> None:
    [texts] = folder.glob("segments/*/documents.sqlite")
    texts.write_bytes(bytes(texts.stat().st_size))
    with TestClient(create_app(service), LOCAL) as client:
        answer = client.get("/index")
    assert (answer.status_code, answer.json()) == (503, {"message": DAMAGED})


class TestShards:
    @pytest.fixture
    def folder(self, encoder: Encoder, tmp_path: Path) -> Path:
        more = [
            Document(f"e{n:02d}", f"cat {n}", f"Cats and {n} dogs", {"n": n % 7, "even": n % 2 == 0, "url": f"u{n}"})
            for n in range(60)
        ]
        build_index(tmp_path / "index", [*documents(), *more], encoder)
        split_index(tmp_path / "index", tmp_path / "shards", shards=SHARDS)
        return tmp_path / "index"

    def test_counts_are_those_of_the_index_that_was_split(
        self, client: TestClient, folder: Path, tmp_path: Path, encoder: Encoder
    ) -> None:
        whole, shards = asked(client, "/index?values=100"), shards_of(tmp_path / "shards")
        with served(tmp_path / "shards", shards, encoder) as sharded:
            found = asked(sharded, "/index?values=100")
            assert found["fields"] == whole["fields"]
            assert found | {"example_queries": 0, "name": 0} == whole | {"example_queries": 0, "name": 0}
            examples = found["example_queries"]
            assert (len(examples), len(set(examples))) == (8, 8)
            before = {name: one.asked for name, one in shards.items()}
            assert asked(sharded, "/index") == asked(sharded, "/index?values=20")
            assert {name: one.asked for name, one in shards.items()} == before, "asked once for each version"

    def test_a_shard_that_is_missing_is_named_and_not_counted_until_it_is_back(
        self, folder: Path, tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("chamfer.serve.sharded.scatter.LOOK", 0.05)
        shards = shards_of(tmp_path / "shards")
        shards["shard-01"].fault = fail
        with served(tmp_path / "shards", shards, encoder, seconds=0.5) as client:
            found = asked(client)
            assert (found["partial"], found["missing_shards"]) == (True, ["shard-01"])
            left = sum(owner_of(f"e{n:02d}", SHARDS) != 1 for n in range(60))
            assert {f["name"]: f["documents"] for f in found["fields"]}["n"] == left < 60
            shards["shard-01"].fault = lambda replica: None
            for _ in range(200):
                if not (found := asked(client))["partial"]:
                    break
            assert {f["name"]: f["documents"] for f in found["fields"]}["n"] == 60
            for one in shards.values():
                one.fault = fail
            assert client.get("/index").status_code == 200, "what was counted is known"

    def test_without_any_shard_there_is_no_answer(self, folder: Path, tmp_path: Path, encoder: Encoder) -> None:
        shards = shards_of(tmp_path / "shards")
        for one in shards.values():
            one.fault = fail
        with served(tmp_path / "shards", shards, encoder, seconds=0.3) as client:
            answer = client.get("/index")
        assert (answer.status_code, "no shard answers" in answer.json()["message"]) == (503, True)

    def test_a_filter_is_noted_as_by_the_index(
        self, client: TestClient, folder: Path, tmp_path: Path, encoder: Encoder
    ) -> None:
        with served(tmp_path / "shards", shards_of(tmp_path / "shards"), encoder) as sharded:
            for where in ("size > 20", "n = '5'", "day > '2024-01-02' and day > 5", "n > 2", "even is null"):
                for path in ("/search", "/explain"):
                    body = {"query": QUERY, "where": where}
                    notes = [one.post(path, json=body).json()["notes"] for one in (client, sharded)]
                    assert notes[0] == notes[1]
                    assert bool(notes[0]) == (where not in ("n > 2", "even is null"))


class TestClients:
    def test_they_return_what_the_library_returns(self, service: Service, folder: Path) -> None:
        index = Index.open(folder)
        with serving(create_app(service, key="secret"), Limits()) as server, Client(server.url, key="secret") as client:
            assert client.fields() == index.fields()
            assert client.fields(1) == index.fields(1)
            assert client.fields().complete
            assert type(client.fields()[0]) is type(index.fields()[0])
            assert client.example_queries() == index.example_queries()
            with pytest.raises(InputError, match="values must be from 0 to 100, not 101"):
                client.fields(101)
            with Client(server.url) as stranger, pytest.raises(InputError, match="requires an API key"):
                stranger.fields()

    @pytest.mark.anyio
    async def test_also_as_coroutines(self, service: Service, folder: Path) -> None:
        index = Index.open(folder)
        async with AsyncClient("http://localhost", transport=httpx.ASGITransport(create_app(service))) as client:
            assert await client.fields(3) == index.fields(3)
            assert await client.example_queries() == index.example_queries()

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    def test_missing_shards_are_a_warning(self) -> None:
        answer = {"fields": [], "fields_are_complete": True, "missing_shards": ["shard-2"], "notes": []}
        transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
        told = pytest.warns(InputWarning, match="the documents of shard-2 are missing")
        with Client("http://localhost", transport=transport) as client, told:
            assert client.fields() == []

    def test_an_answer_of_something_else_is_refused(self) -> None:
        transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"fields": [{"name": "a"}]}))
        with (
            Client("http://localhost", transport=transport) as client,
            pytest.raises(InputError, match="does not answer as chamfer serve of this version does"),
        ):
            client.fields()
