"""``/explain``: any version of the weights, and whether there is probably nothing."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Encoder, Searcher
from chamfer.serve.app import create_app
from chamfer.serve.service import Service
from chamfer.serve.single import service_of
from tests.test_shards import build_changed

QUERY = "why do cats sleep at night"

pytestmark = pytest.mark.usefixtures("estimated_at_once")


@pytest.fixture(scope="module")
def searcher(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder: Path = build_changed(tmp_path_factory.mktemp("explained") / "index", encoder)
    return Searcher.open(folder, encoder=encoder, weights="mix")


@pytest.fixture
def service(searcher: Searcher) -> Service:
    return service_of(searcher)


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    with TestClient(create_app(service, hosts=()), "http://localhost") as opened:
        yield opened


def test_an_explanation_says_what_a_search_does_of_probably_nothing(client: TestClient, service: Service) -> None:
    best = client.post("/search", json={"query": QUERY}).json()["hits"][0]["score"]
    for level, expected in ((best + 0.01, True), (best - 0.01, False), (None, None)):
        with patch.object(type(service.backend.reader), "unrelated_score", return_value=level):
            for path in ("/search", "/explain"):
                assert client.post(path, json={"query": QUERY}).json()["probably_nothing"] is expected
    with patch.object(type(service.backend.reader), "unrelated_score", return_value=1.0):
        ids = [client.post("/search", json={"query": QUERY}).json()["hits"][0]["id"]]
        for rest in ({"mix": {"pooled": 0.2}}, {"ids": ids}):
            answer = client.post("/explain", json={"query": QUERY, **rest}).json()
            assert answer["probably_nothing"] is None, "other mixes, and documents that nobody searched for"


def test_a_version_that_is_not_in_use_can_be_explained(client: TestClient) -> None:
    uniform = client.put("/weights", json={"weights": "uniform"}).json()["version"]
    client.post("/weights/use", json={"version": 1})
    answer = client.post("/explain", json={"query": QUERY, "weights": uniform}).json()
    assert {token["weight"] for token in answer["tokens"]} == {1.0}
    assert answer["weights"] == uniform
    named = client.post("/explain", json={"query": QUERY, "weights": "uniform"}).json()
    assert answer["documents"] == named["documents"]
    current = client.post("/explain", json={"query": QUERY}).json()
    assert client.post("/explain", json={"query": QUERY, "weights": 1}).json() == current


@pytest.mark.parametrize(("sent", "status"), [(99, 404), (0, 422), ("nothing", 422), (1.5, 422), (True, 422)])
def test_weights_that_do_not_exist_are_an_error(client: TestClient, sent: object, status: int) -> None:
    answer = client.post("/explain", json={"query": QUERY, "weights": sent})
    assert answer.status_code == status
    assert answer.json()["message"]
