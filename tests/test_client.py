"""The Python client: the answers of a server are those of the library, and every failure is one sentence."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")
pytest.importorskip("httpx", reason="the extra chamfer[client] is not installed")

import httpx

from chamfer import (
    AsyncClient,
    Client,
    Document,
    Encoder,
    Explanation,
    InputError,
    Mix,
    Searcher,
    TokenWeights,
    build_index,
)
from chamfer.cli.app import main
from chamfer.client import outcomes
from chamfer.errors import InputWarning, ServerError, UnknownNameError
from chamfer.index.filter_errors import FilterSyntaxError
from chamfer.serve.app import create_app
from chamfer.serve.limits import Limits
from chamfer.support.devices import one_torch_thread
from tests.conftest import DOCUMENTS, write_lines
from tests.threaded_server import Address, serving

QUERY = "why do cats sleep"
URL = "http://localhost:8000"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As in the server: with several threads, torch rounds differently."""
    with one_torch_thread():
        yield


@pytest.fixture(scope="module")
def searcher(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    documents = [Document(name, text, metadata={"length": len(text)}) for name, text in DOCUMENTS.items()]
    folder = tmp_path_factory.mktemp("client") / "index"
    build_index(folder, [*documents, Document("empty", "")], encoder, allow_empty=True)
    return Searcher.open(folder, encoder=encoder)


@pytest.fixture(scope="module")
def server(searcher: Searcher) -> Iterator[Address]:
    with serving(create_app(searcher, key="secret"), Limits()) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Address) -> Iterator[Client]:
    with Client(server.url, key="secret") as client:
        yield client


def answering(*answers: httpx.Response | Exception, **settings: Any) -> tuple[Client, list[httpx.Request]]:
    """A client whose requests get these answers in turn, and what it asked."""
    asked: list[httpx.Request] = []
    waiting = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        found = waiting.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return Client(URL, transport=httpx.MockTransport(answer), **settings), asked


def problem(status: int, message: str, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"message": message}, headers=headers)


FOUND: dict[str, Any] = {"hits": [], "query_read": None, "probably_nothing": None, "notes": [], "missing_shards": []}


class TestParity:
    @pytest.mark.parametrize(
        "settings",
        [
            {},
            {"k": 100},
            {"k": 2, "offset": 1},
            {"k": 2, "weights": "uniform"},
            {"where": "length > 20"},
            {"min_score": 0.3},
        ],
    )
    def test_a_search_finds_what_the_library_finds(
        self, client: Client, searcher: Searcher, settings: dict[str, Any]
    ) -> None:
        found, expected = client.search(QUERY, **settings), searcher.search(QUERY, **settings)
        assert (found, found.query_was_truncated) == (expected, expected.query_was_truncated)
        assert type(found) is type(expected)

    def test_several_queries_get_a_list_of_answers(self, client: Client, searcher: Searcher) -> None:
        queries = [QUERY, "blue sky"]
        assert client.search(queries, 2) == searcher.search(queries, 2)
        assert client.search(queries, 2, offset=1) == searcher.search(queries, 2, offset=1)
        assert client.search(queries, 200) == [searcher.search(query, 200) for query in queries]
        assert client.search([]) == []

    def test_a_document_without_tokens_has_no_score(self, client: Client) -> None:
        assert client.search(QUERY, 100)[-1][:2] == ("empty", 0.0)

    def test_an_explanation_is_that_of_the_library(self, client: Client, searcher: Searcher) -> None:
        assert client.explain(QUERY, "d1") == searcher.explain(QUERY, "d1")
        ids = ["d5", "d1", "d1"]
        assert client.explain(QUERY, ids, weights="idf") == searcher.explain(QUERY, ids, weights="idf")
        assert client.explain(QUERY) == searcher.explain(QUERY)
        explanation: Explanation = client.explain(QUERY, "d1")
        assert explanation.evidence
        assert explanation.as_json() == searcher.explain(QUERY, "d1").as_json()

    @pytest.mark.parametrize("settings", [{}, {"k": 3}, {"min_score": 0.3}, {"weights": "uniform"}])
    @pytest.mark.parametrize("documents", [{"z": "a dog", "a": "cats sleep", "b": "a dog"}, ["a dog", "", "cats"] * 15])
    def test_texts_are_ranked_as_the_library_ranks_them(
        self, client: Client, searcher: Searcher, documents: Any, settings: dict[str, Any]
    ) -> None:
        found, expected = (one.rerank(QUERY, documents, **settings) for one in (client, searcher))
        assert found.document_ids == expected.document_ids
        assert found.scores == pytest.approx(expected.scores, abs=1e-5)

    def test_texts_whose_scores_are_cut_off_keep_the_order_of_the_server(
        self, client: Client, searcher: Searcher
    ) -> None:
        heavy, texts = Mix(lexical=50), {"z": f"{QUERY} " * 3, "a": QUERY, "m": f"{QUERY} {QUERY} sleep", "b": QUERY}
        expected = searcher.rerank(QUERY, texts, weights=searcher.queries.resolve("mix").with_mix(heavy))
        assert expected.scores.count(1.0) > 1, "more than one is beyond the end of the scale"
        assert list(expected.document_ids) != sorted(expected.document_ids)
        found = client.rerank(QUERY, texts, weights="mix", mix=heavy)
        assert found.document_ids == expected.document_ids
        assert client.rerank(QUERY, texts, 2, weights="mix", mix=heavy).document_ids == expected.document_ids[:2]

    def test_a_mix_replaces_that_of_the_weights(self, client: Client, searcher: Searcher) -> None:
        mix = Mix(lexical=0.5, pooled=0.1)
        weights = searcher.queries.resolve("idf").with_mix(mix)
        assert client.search(QUERY, weights="idf", mix=mix) == searcher.search(QUERY, weights=weights)
        assert client.search([QUERY], weights="idf", mix=mix) == searcher.search([QUERY], weights=weights)
        assert client.explain(QUERY, "d1", weights="idf", mix=mix) == searcher.explain(QUERY, "d1", weights=weights)
        assert client.explain(QUERY, weights="idf", mix=mix) == searcher.explain(QUERY, weights=weights)
        with pytest.raises(InputError, match=r"mix must be a chamfer\.Mix, not float"):
            client.search(QUERY, mix=0.5)  # type: ignore[call-overload]

    @pytest.mark.parametrize("least", [-0.1, 1.5, float("nan"), "high", True])
    @pytest.mark.parametrize("documents", [{"a": "a dog"}, []])
    def test_an_impossible_lowest_score_is_refused_as_by_the_library(
        self, client: Client, searcher: Searcher, documents: Any, least: Any
    ) -> None:
        for one in (client, searcher):
            with pytest.raises(InputError, match="min_score must be from 0 to 1"):
                one.rerank(QUERY, documents, min_score=least)

    def test_nothing_is_ranked_and_explained_without_asking(self, client: Client, searcher: Searcher) -> None:
        assert client.rerank(QUERY, {}) == searcher.rerank(QUERY, {})
        assert client.explain(QUERY, []) == searcher.explain(QUERY, []) == []

    def test_coroutines_do_the_same(self, searcher: Searcher) -> None:
        async def ask() -> None:
            transport = httpx.ASGITransport(create_app(searcher, key="secret"))
            async with AsyncClient(URL, key="secret", transport=transport) as client:
                assert await client.search(QUERY, 3) == searcher.search(QUERY, 3)
                assert await client.search([QUERY, "dog"], 3) == searcher.search([QUERY, "dog"], 3)
                assert await client.explain(QUERY, "d1") == searcher.explain(QUERY, "d1")
                assert await client.explain(QUERY, ["d1"]) == searcher.explain(QUERY, ["d1"])
                assert await client.explain(QUERY) == searcher.explain(QUERY)
                ranking = await client.rerank(QUERY, {"a": "a dog", "b": "cats"})
                assert ranking.document_ids == searcher.rerank(QUERY, {"a": "a dog", "b": "cats"}).document_ids
                with pytest.warns(InputWarning, match="no document has the field 'size'") as told:
                    await client.search(QUERY, where="size > 2")
                assert told[0].filename == __file__
                with pytest.raises(InputError, match="has no tokens; give some text"):
                    await client.search(" ")
                with pytest.raises(FilterSyntaxError, match="needs a value"):
                    await client.search([QUERY], where="length >")

        asyncio.run(ask())

    def test_connections_are_used_again(self, server: Address) -> None:
        with Client(server.url, key="secret") as client:
            for _ in range(3):
                client.search(QUERY)
            [connection] = client._http._transport._pool.connections  # type: ignore[attr-defined]
            assert "Request Count: 3" in repr(connection)


class TestErrors:
    @pytest.mark.parametrize(
        ("call", "error", "told"),
        [
            (lambda client: client.search(QUERY, 0), InputError, "k must be at least 1, not 0"),
            (lambda client: client.search(QUERY, where="length >"), InputError, "a filter needs a value"),
            (lambda client: client.search(QUERY, weights="heavy"), InputError, "weights must be"),
            (lambda client: client.search("\ud800"), InputError, "the request body is not valid JSON"),
            (lambda client: client.explain(QUERY, "none"), UnknownNameError, "there is no document 'none'"),
            (lambda client: client.explain(QUERY, "empty"), InputError, "document 'empty' has no tokens"),
            (lambda client: client.rerank(QUERY, "text"), InputError, "documents must be a list"),
            (lambda client: client.rerank(QUERY, [b"text"]), InputError, "cannot be written as JSON"),
        ],
    )
    def test_the_server_says_what_is_wrong(
        self, client: Client, call: Callable[[Client], object], error: type[Exception], told: str
    ) -> None:
        with pytest.raises(error, match=re.escape(told)):
            call(client)

    @pytest.mark.parametrize("query", [QUERY, [QUERY, "dog"]])
    def test_a_mistake_in_a_filter_is_shown_as_in_the_library(
        self, client: Client, searcher: Searcher, query: Any
    ) -> None:
        errors = []
        for one in (client, searcher):
            with pytest.raises(FilterSyntaxError) as raised:
                one.search(query, where="length > 5 and lang = en-US")
            errors.append((str(raised.value), raised.value.position, raised.value.__notes__))
        assert errors[0] == errors[1]

    @pytest.mark.parametrize("position", [0, 99, "5", None])
    def test_a_position_outside_the_filter_is_no_position(self, position: object) -> None:
        client, _ = answering(httpx.Response(400, json={"message": "bad", "position": position}))
        with pytest.raises(InputError, match="bad") as raised:
            client.search(QUERY, where="length >")
        assert type(raised.value) is InputError

    def test_weights_are_named(self, client: Client, encoder: Encoder) -> None:
        weights: Any = TokenWeights.uniform(encoder.vocabulary)
        with pytest.raises(InputError, match="a server takes weights by name, not TokenWeights; upload them"):
            client.search(QUERY, weights=weights)

    def test_notes_are_warnings_of_the_caller(self, client: Client) -> None:
        for query in (QUERY, [QUERY, "dog"]):
            with pytest.warns(InputWarning, match="no document has the field 'size'") as told:
                client.search(query, where="size > 2")
            assert [one.filename for one in told] == [__file__]

    @pytest.mark.parametrize(
        ("key", "told"), [(None, "requires an API key; give one with"), ("x", "refuses the API key")]
    )
    def test_a_key_that_is_missing_or_wrong(self, server: Address, key: str | None, told: str) -> None:
        with Client(server.url, key=key) as client, pytest.raises(InputError, match=told):
            client.search(QUERY)

    def test_a_wrong_host_is_told_by_the_server(self, searcher: Searcher) -> None:
        async def ask() -> None:
            app = create_app(searcher, hosts=())
            async with AsyncClient("http://search.example", transport=httpx.ASGITransport(app)) as client:
                await client.search(QUERY)

        with pytest.raises(InputError, match=r"this server does not answer to search\.example"):
            asyncio.run(ask())

    def test_nobody_listens(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            with Client(url) as client, pytest.raises(ServerError, match=f"cannot connect to {url} .*refused.*; check"):
                client.search(QUERY)

    @pytest.mark.parametrize(
        ("outcome", "error", "told"),
        [
            (httpx.ConnectError("[Errno -2] Name unknown"), ServerError, r"cannot connect to .* \(\[Errno -2\] Name"),
            (httpx.ConnectTimeout(""), ServerError, r"cannot connect to .* \(ConnectTimeout\); check the address"),
            (httpx.ReadTimeout(""), ServerError, "did not answer within 60 seconds; ask for less at a time"),
            (httpx.PoolTimeout(""), ServerError, "did not answer within 60 seconds"),
            (httpx.DecodingError("bad"), ServerError, r"the connection to .* broke \(bad\); try again"),
            (httpx.Response(200, text="<html>"), InputError, r"does not answer as chamfer serve .*\(HTTP 200\); check"),
            (httpx.Response(200, content=b"\xff"), InputError, "does not answer as chamfer serve"),
            (httpx.Response(200, json=[]), InputError, "does not answer as chamfer serve"),
            (httpx.Response(200, json={"hits": [5]}), InputError, "does not answer as chamfer serve"),
            (httpx.Response(404, json={"detail": "Not Found"}), InputError, r"\(HTTP 404\); check the address"),
            (httpx.Response(301, headers={"location": "https://a/"}), InputError, "redirects to https://a/; give"),
            (problem(404, "there is no document 'x'"), UnknownNameError, "there is no document 'x'"),
            (problem(413, "too large"), InputError, "too large"),
            (problem(503, "files are damaged"), ServerError, "files are damaged"),
            (problem(500, "its log has the reason"), ServerError, "its log has the reason"),
        ],
    )
    def test_a_failure_is_one_sentence(self, outcome: Any, error: type[Exception], told: str) -> None:
        client, asked = answering(outcome)
        with pytest.raises(error, match=told):
            client.search(QUERY)
        assert len(asked) == 1

    @pytest.mark.parametrize(
        "url",
        [
            "localhost:8000",
            "ftp://a",
            "http://",
            "http://a:b",
            "http://a?b=c",
            "http://[",
            "",
            "http://a\x7f",
            "http://xn--\u2603",
        ],
    )
    def test_an_address_is_checked_at_once(self, url: str) -> None:
        with pytest.raises(InputError, match="is not the address of a server; give one such as http://localhost:8000"):
            Client(url)

    @pytest.mark.parametrize("url", ["http://me:hush@host", "http://hush@host", "me:hush@host", "ftp://me:hush@[", "@"])
    def test_credentials_in_an_address_are_refused_and_not_shown(self, url: str) -> None:
        with pytest.raises(InputError, match="must not hold a user name or a password") as raised:
            Client(url)
        assert "hush" not in str(raised.value)

    def test_a_key_and_a_time_are_checked_at_once(self) -> None:
        with pytest.raises(InputError, match="only printable ASCII"):
            Client(URL, key="s\n")
        with pytest.raises(InputError, match="timeout must be more than 0 seconds, not 0"):
            Client(URL, timeout=0)

    def test_httpx_is_named_if_it_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "httpx", None)
        with pytest.raises(InputError, match=r"pip install 'chamfer\[client\]'"):
            Client(URL)


class TestRetries:
    @pytest.fixture
    def pauses(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        pauses: list[float] = []
        monkeypatch.setattr("chamfer.client.client.time.sleep", pauses.append)
        return pauses

    def test_a_busy_server_is_asked_again_when_it_says(self, pauses: list[float]) -> None:
        busy = {"retry-after": "2"}
        client, asked = answering(
            problem(429, "busy", **busy), problem(503, "slow", **busy), httpx.Response(200, json=FOUND)
        )
        assert client.search(QUERY) == []
        assert (pauses, len(asked)) == ([2.0, 2.0], 3)
        assert len({request.content for request in asked}) == 1

    def test_it_is_asked_three_times(self, pauses: list[float]) -> None:
        client, asked = answering(*[problem(429, "busy", **{"retry-after": "1"})] * 4)
        with pytest.raises(ServerError, match="busy"):
            client.search(QUERY)
        assert len(asked) == outcomes.TRIES == 3

    def test_no_pause_is_longer_than_the_call(self, pauses: list[float]) -> None:
        client, asked = answering(problem(429, "busy", **{"retry-after": "90"}))
        with pytest.raises(ServerError, match="busy"):
            client.search(QUERY)
        assert (pauses, len(asked)) == ([], 1)

    def test_an_idle_connection_that_was_closed_is_opened_again(self, pauses: list[float]) -> None:
        client, _ = answering(httpx.RemoteProtocolError("closed"), httpx.Response(200, json=FOUND))
        assert client.search(QUERY) == []

    def test_shards_that_did_not_answer_are_a_warning(self) -> None:
        client, _ = answering(httpx.Response(200, json={**FOUND, "missing_shards": ["shard-2"]}))
        with pytest.warns(InputWarning, match="documents of shard-2 are missing, because"):
            client.search(QUERY)
        explained: dict[str, Any] = {"documents": [], "tokens": [], "form": "l2", "query_read": None}
        client, _ = answering(httpx.Response(200, json={**explained, "missing_shards": ["shard-2"]}))
        with pytest.raises(ServerError, match="'d1' was not found, and shard-2 did not answer; try again"):
            client.explain(QUERY, "d1")


def test_what_is_sent(tmp_path: Path) -> None:
    client, asked = answering(httpx.Response(200, json=FOUND), key="secret")
    client.search("é", where="a = 1")
    [request] = asked
    assert (str(request.url), request.headers["authorization"]) == (f"{URL}/search", "Bearer secret")
    sent = {"query": "é", "k": 10, "offset": 0, "weights": "current", "where": "a = 1", "min_score": 0.0}
    assert json.loads(request.content) == sent
    under, asked = answering(httpx.Response(200, json=FOUND))
    under = Client(f"{URL}/behind/a/proxy/", transport=under._http._transport)
    with warnings.catch_warnings():
        under.search(QUERY)
    assert asked[0].url == f"{URL}/behind/a/proxy/search"


@pytest.mark.parametrize(("k", "sizes"), [(10, [32, 32, 6]), (101, [])])
def test_many_queries_are_few_requests(k: int, sizes: list[int]) -> None:
    one = {**FOUND, "notes": ["odd"]}
    answers = [httpx.Response(200, json={"results": [one] * size}) for size in sizes]
    client, asked = answering(*answers or [httpx.Response(200, json=one)] * 70)
    with pytest.warns(InputWarning, match="odd") as told:
        assert client.search([f"q{place}" for place in range(70)], k, offset=5) == [[]] * 70
    sent = [json.loads(request.content) for request in asked]
    assert [len(body.get("queries", "")) for body in sent] == (sizes or [0] * 70)
    assert {(body["k"], body["offset"]) for body in sent} == {(k, 5)}
    assert len(told) == len(sent)
    client, _ = answering(httpx.Response(200, json={"results": [one]}))
    with pytest.raises(InputError, match="does not answer as chamfer serve"):
        client.search(["a", "b"])


class TestSlowServers:
    @pytest.fixture
    def dripping(self, request: pytest.FixtureRequest) -> Iterator[str]:
        """The address of a server that sends a byte of its answer every twentieth of a second."""
        stopped = threading.Event()

        def answer(listener: socket.socket) -> None:
            with listener, suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(request.param)
                    while not stopped.wait(0.05):
                        connection.sendall(b"a")

        listener = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=answer, args=(listener,))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        stopped.set()
        thread.join(10)

    HEADS = (b"HTTP/1.1 200 OK\r\nx-slow: ", b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n")

    @pytest.mark.parametrize("dripping", HEADS, indirect=True, ids=["headers", "body"])
    def test_a_call_ends_when_its_time_is_up(self, dripping: str) -> None:
        began = time.monotonic()
        with Client(dripping, timeout=0.5) as client, pytest.raises(ServerError, match=r"did not answer within 0\.5 s"):
            client.search(QUERY)
        assert time.monotonic() - began < 2

    @pytest.mark.parametrize("dripping", HEADS, indirect=True, ids=["headers", "body"])
    def test_a_coroutine_ends_when_its_time_is_up(self, dripping: str) -> None:
        async def ask() -> None:
            async with AsyncClient(dripping, timeout=0.5) as client:
                await client.search(QUERY)

        began = time.monotonic()
        with pytest.raises(ServerError, match=r"did not answer within 0\.5 seconds"):
            asyncio.run(ask())
        assert time.monotonic() - began < 2

    def test_a_large_answer_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("chamfer.client.receiving.MOST_BYTES", 1 << 20)
        client, asked = answering(httpx.Response(200, content=b" " * ((1 << 20) + 1)))
        with pytest.raises(ServerError, match="the answer is larger than 1 MB; ask for fewer documents"):
            client.search(QUERY)
        assert len(asked) == 1


class TestCommand:
    """``chamfer search --server``."""

    @pytest.fixture
    def run(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> Callable[..., tuple[str, str]]:
        monkeypatch.setenv("CHAMFER_API_KEY", "secret")

        def call(*arguments: object, code: int = 0) -> tuple[str, str]:
            monkeypatch.setattr(sys, "argv", ["chamfer", "search", *map(str, arguments)])
            with pytest.raises(SystemExit) as left:
                main()
            assert (left.value.code or 0) == code
            return capsys.readouterr()

        return call

    @pytest.mark.parametrize(
        "arguments",
        [
            ["-k", 2],
            ["--json"],
            ["--weights", "idf", "--min-score", "0.3"],
            ["--where", "length > 20"],
            ["--mix", "2,0"],
        ],
    )
    def test_it_prints_what_a_search_of_the_index_prints(
        self, run: Callable[..., tuple[str, str]], server: Address, searcher: Searcher, arguments: list[object]
    ) -> None:
        local = run(searcher.index.folder, QUERY, *arguments)
        assert run("--server", server.url, QUERY, *arguments) == local
        assert local[0]

    def test_many_queries(
        self, run: Callable[..., tuple[str, str]], server: Address, searcher: Searcher, tmp_path: Path
    ) -> None:
        write_lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": QUERY}, {"_id": "q2", "text": "a dog " * 50}])
        shown, said = run("--queries", tmp_path / "queries.jsonl", "--server", server.url)
        assert [json.loads(line)["id"] for line in shown.splitlines()] == ["q1", "q2"]
        assert said == "note: 1 of 2 queries were truncated to what the model reads\n"

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--server", URL, "index", "cat"], "a server has its own index; leave out either index or --server"),
            (["--server", URL], "give either a query or --queries FILE"),
            (["--server", URL, "cat", "--depth", "5"], "--depth is the server's; leave it out with --server"),
            (["--server", URL, "cat", "--form", "l2"], "--form is the server's"),
            (["--server", "localhost", "cat"], "'localhost' is not the address of a server"),
            (["--server", URL, " "], "the query is empty"),
            ([], "give the folder of an index, or the address of a server with --server"),
        ],
    )
    def test_mistakes(self, run: Callable[..., tuple[str, str]], arguments: list[str], told: str) -> None:
        shown, said = run(*arguments, code=2)
        assert (shown, said.startswith(f"error: {told}"), said.count("\n")) == ("", True, 1), said

    def test_nobody_listens(self, run: Callable[..., tuple[str, str]]) -> None:
        shown, said = run("--server", "http://127.0.0.1:1", "cat", code=1)
        assert (shown, said.startswith("error: cannot connect to http://127.0.0.1:1 "), said.count("\n")) == (
            "",
            True,
            1,
        )

    def test_it_imports_no_model_and_answers_at_once(self, server: Address, searcher: Searcher) -> None:
        code = (
            "import sys; from chamfer.cli.app import main\n"
            "try: main()\n"
            "finally: assert not {'torch', 'sentence_transformers', 'scipy', 'faiss', 'fastapi'} & set(sys.modules)"
        )
        words = ["search", "--server", server.url, QUERY, "--json"]
        settings = {**os.environ, "CHAMFER_API_KEY": "secret"}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, *words], capture_output=True, text=True, env=settings
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert [hit["id"] for hit in json.loads(done.stdout)["hits"]] == [hit.id for hit in searcher.search(QUERY)]


def test_the_client_imports_no_model() -> None:
    code = (
        "import sys, chamfer, httpx\n"
        "found = {'hits': [], 'query_read': None, 'probably_nothing': None}\n"
        "transport = httpx.MockTransport(lambda _: httpx.Response(200, json=found))\n"
        "chamfer.Client('http://localhost', transport=transport).search('cats')\n"
        "assert not {'torch', 'sentence_transformers', 'transformers', 'scipy', 'fastapi'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
