"""What unrelated texts score is estimated beside the searches of a server, which never wait for it."""

import logging
import threading
import time
from pathlib import Path
from unittest.mock import patch

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Encoder, Searcher
from chamfer.search import background
from chamfer.search.background import Levels, read_level
from chamfer.serve.app import create_app
from chamfer.serve.service import Service
from tests.test_search import build, corpus

QUERY = "why do cats sleep at night"
SECONDS = 20


@pytest.fixture
def searcher(encoder: Encoder, tmp_path: Path) -> Searcher:
    return Searcher.open(build(tmp_path / "index", encoder, corpus()), encoder=encoder)


def told(client: TestClient, weights: str = "current") -> bool | None:
    answer = client.post("/search", json={"query": QUERY, "weights": weights})
    assert answer.status_code == 200, answer.text
    known: bool | None = answer.json()["probably_nothing"]
    return known


def told_later(client: TestClient, weights: str = "current") -> bool | None:
    stop = time.monotonic() + SECONDS
    while (known := told(client, weights)) is None and time.monotonic() < stop:
        time.sleep(0.01)
    return known


def test_a_search_does_not_wait_for_the_estimate_and_later_ones_know_it(client: TestClient, searcher: Searcher) -> None:
    go_on, real, begun = threading.Event(), Levels._estimated, list[object]()

    def slow(self: Levels, weights: str) -> float | None:
        begun.append(weights)
        go_on.wait(SECONDS)
        return real(self, weights)

    with patch.object(Levels, "_estimated", autospec=True, side_effect=slow):
        assert [told(client) for _ in range(3)] == [None] * 3
        assert [told(client, "uniform") for _ in range(3)] == [None] * 3
        go_on.set()
        answers = [told_later(client), told_later(client, "uniform")]
    assert begun == ["mix", "uniform"], "each is estimated once, in turn"
    assert answers == [searcher.search(QUERY, weights=weights).probably_nothing for weights in ("mix", "uniform")]
    with patch.object(Levels, "_estimated", side_effect=AssertionError):
        assert told(client) is answers[0]


def test_what_is_kept_beside_the_index_is_known_at_once(searcher: Searcher, encoder: Encoder) -> None:
    expected = searcher.search(QUERY).probably_nothing
    assert expected is not None
    again = Searcher.open(searcher.index.folder, encoder=encoder)
    with TestClient(create_app(again), "http://localhost") as client:
        assert told(client) is expected


def test_an_estimate_that_fails_is_logged_and_searches_go_on(
    client: TestClient, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING, "chamfer"),
        patch.object(background, "kernel_scores", side_effect=ZeroDivisionError),
    ):
        assert told(client) is None
        service.close()
    assert "cannot estimate what unrelated texts score" in caplog.text
    assert told_later(client) is not None


def test_a_server_that_stops_drops_the_estimates_that_wait(searcher: Searcher) -> None:
    go_on, begun = threading.Event(), list[object]()

    def slow(_levels: Levels, weights: str) -> None:
        begun.append(weights)
        go_on.wait(SECONDS)

    with patch.object(Levels, "_estimated", autospec=True, side_effect=slow):
        with TestClient(create_app(searcher), "http://localhost") as client:
            for weights in ("mix", "uniform", "idf"):
                assert told(client, weights) is None
            threading.Timer(0.2, go_on.set).start()
        assert begun == ["mix"]
    assert not any(read_level(searcher.index.folder, key, len(searcher)) for key in searcher.levels._known)
