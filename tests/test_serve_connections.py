"""Connections to the server: none is held for ever, none costs much memory, and one address cannot take them all."""

import gc
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

import httpx

from chamfer import Encoder, Searcher, build_index
from chamfer.serve import bodies
from chamfer.serve.app import create_app
from chamfer.serve.asgi import Receive, Scope, Send
from chamfer.serve.connections import MOST_HEADERS, network
from chamfer.serve.limits import Limits
from tests.conftest import DOCUMENTS
from tests.threaded_server import Address, received, serving

SHORT = 0.2
LIMITS = Limits(
    head_bytes=8 << 10,
    head_seconds=SHORT,
    reading_seconds=SHORT,
    writing_seconds=SHORT,
    connections=20,
    connections_per_address=12,
)
HOST = b"host: localhost\r\n"
GET = b"GET /health HTTP/1.1\r\n" + HOST
POST = b"POST /search HTTP/1.1\r\n" + HOST + b"content-type: application/json\r\n"
LONG = b"content-length: 4000000\r\n\r\nx"


@pytest.fixture(scope="module")
def searcher(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder = tmp_path_factory.mktemp("served") / "index"
    build_index(folder, DOCUMENTS, encoder)
    return Searcher.open(folder, encoder=encoder)


@pytest.fixture(scope="module")
def server(searcher: Searcher) -> Iterator[Address]:
    with serving(create_app(searcher, limits=LIMITS, hosts=()), LIMITS) as address:
        yield address


@pytest.fixture(scope="module")
def locked(searcher: Searcher) -> Iterator[Address]:
    with serving(create_app(searcher, limits=LIMITS, key="secret"), LIMITS) as address:
        yield address


def statuses(answer: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", answer)]


class TestBodiesThatAreNotRead:
    @pytest.mark.parametrize(
        ("request_", "status"),
        [
            (GET + LONG, 413),
            (b"DELETE /weights/1 HTTP/1.1\r\n" + HOST + LONG, 413),
            (b"PUT /search HTTP/1.1\r\n" + HOST + LONG, 405),
            (b"POST /search HTTP/1.1\r\nhost: evil.example\r\n" + LONG, 421),
            (b"POST /search HTTP/1.1\r\n" + HOST + LONG, 415),
            (GET + b"content-length: 9\r\n\r\nx", 408),
            (GET + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n", 408),
        ],
    )
    def test_end_the_connection_with_the_answer(self, server: Address, request_: bytes, status: int) -> None:
        answer = server.ask(request_)
        assert statuses(answer) == [status]
        assert b"connection: close" in answer

    def test_end_the_connection_without_a_key_too(self, locked: Address) -> None:
        assert statuses(locked.ask(POST + LONG)) == [401]
        assert statuses(locked.ask(POST + b"expect: 100-continue\r\ncontent-length: 9\r\n\r\n")) == [401]

    def test_are_awaited_if_they_are_small_so_that_the_client_can_go_on(self, locked: Address) -> None:
        body = b'{"query": "cat"}'
        with locked.connect() as client:
            client.sendall(POST + b"content-length: %d\r\n\r\n" % len(body) + body[:3])
            client.sendall(body[3:])
            assert statuses(one_answer(client)) == [401]
            client.sendall(POST + b"authorization: Bearer secret\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            assert statuses(one_answer(client)) == [200]

    def test_are_awaited_only_for_a_moment(self, locked: Address, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bodies, "DISCARDING_SECONDS", SHORT)
        assert statuses(locked.ask(POST + b"content-length: 9\r\n\r\nx")) == [401]


class TestTimers:
    @pytest.mark.parametrize("before", [b"", GET + b"\r\n"], ids=["at first", "after an answer"])
    @pytest.mark.parametrize("part", [b"", b"\r\n", b"a: b\r\n"], ids=["silent", "empty lines", "headers"])
    def test_a_connection_without_a_request_is_closed(self, server: Address, before: bytes, part: bytes) -> None:
        with server.connect() as client:
            client.sendall(before)
            answer = one_answer(client) if before else b""
            if part == b"a: b\r\n":
                client.sendall(GET)
            answer += trickled(client, part)
        assert statuses(answer) == ([200] if before else [])

    def test_a_body_that_trickles_is_given_up(self, server: Address) -> None:
        with server.connect() as client:
            client.sendall(POST + b"content-length: 4000\r\n\r\n")
            assert httpx.post(f"{server.url}/search", json={"query": "cat"}).status_code == 200, "nobody waits for it"
            assert statuses(trickled(client, b" ")) == [408]

    @pytest.mark.parametrize("parts", [1, 2], ids=["whole", "in two parts"])
    @pytest.mark.parametrize("close", [False, True], ids=["keep-alive", "close"])
    def test_a_client_that_does_not_read_its_answer_is_given_up(self, parts: int, close: bool) -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await send({"type": f"{(await receive())['type']}.complete"})
                await send({"type": f"{(await receive())['type']}.complete"})
                return
            headers = [(b"connection", b"close")] if close else []
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            for part in range(parts):
                await send({"type": "http.response.body", "body": bytes(20 << 20), "more_body": part < parts - 1})

        with serving(app, LIMITS) as server, server.connect() as client:
            client.sendall(GET + b"\r\n")
            client.recv(1, socket.MSG_PEEK)
            wait_until(lambda: not server.open_connections)
            assert len(received(client)) < 20 << 20


class TestHeads:
    def test_of_a_normal_size_are_taken(self, server: Address) -> None:
        most = LIMITS.head_bytes - len(GET) - len(b"a: \r\n\r\n") - 1
        assert statuses(server.ask(GET + b"a: " + b"x" * most + b"\r\n\r\n")) == [200]

    @pytest.mark.parametrize(
        ("request_", "status"),
        [
            (b"GET /" + b"x" * LIMITS.head_bytes, 414),
            (b"GET /health?" + b"x" * LIMITS.head_bytes + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
            (GET + b"a: " + b"x" * LIMITS.head_bytes + b"\r\n\r\n", 431),
            (GET + b"x" * LIMITS.head_bytes, 431),
            (GET + b"a: b\r\n" * MOST_HEADERS + b"\r\n", 431),
            (b"\r\n" * LIMITS.head_bytes, 431),
            (POST + b"transfer-encoding: chunked\r\n\r\n2;" + b"x" * 3 * LIMITS.head_bytes, 431),
            (POST + b"transfer-encoding: chunked\r\n\r\n0\r\na: " + b"x" * 3 * LIMITS.head_bytes, 431),
            (POST + b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * LIMITS.head_bytes, 431),
        ],
    )
    def test_that_are_too_large_are_refused(self, server: Address, request_: bytes, status: int) -> None:
        for parts in ([request_], [request_[:2000], request_[2000:]]):
            answer = server.ask(*parts)
            assert statuses(answer) == [status]
            assert b"connection: close" in answer
            assert b'{"message": "' in answer

    def test_that_are_too_large_may_come_second(self, server: Address) -> None:
        with server.connect() as client:
            client.sendall(GET + b"\r\n")
            assert statuses(one_answer(client)) == [200]
            client.sendall(GET + b"a: " + b"x" * LIMITS.head_bytes)
            assert statuses(received(client)) == [431]

    @pytest.mark.parametrize("request_", [b"nonsense\r\n\r\n", bytes(range(256)), b"GET http:/// HTTP/1.1\r\n\r\n"])
    def test_that_are_not_http_are_told_so(self, server: Address, request_: bytes) -> None:
        answer = server.ask(request_)
        assert statuses(answer) == [400]
        assert b"not a valid HTTP request" in answer

    def test_trailers_are_no_headers(self, locked: Address) -> None:
        late = b"authorization: Bearer secret\r\n\r\n"
        assert statuses(locked.ask(POST + b"transfer-encoding: chunked\r\n\r\n0\r\n" + late)) == [401]

    def test_a_request_before_the_last_answer_is_left_unanswered(self, server: Address) -> None:
        answer = server.ask((GET + b"\r\n") * 5000)
        assert statuses(answer) == [200]
        assert b"connection: close" in answer


class TestTooMany:
    def test_connections_of_one_address_are_refused_and_others_are_answered(self, server: Address) -> None:
        wait_until(lambda: not server.open_connections)
        with ExitStack() as held:
            for _ in range(LIMITS.connections_per_address):
                held.enter_context(server.connect())
            wait_until(lambda: server.open_connections == LIMITS.connections_per_address)
            refused = server.ask(GET + b"\r\n")
            assert statuses(refused) == [503]
            assert b"retry-after: 1" in refused
            with server.connect("127.0.0.2") as other:
                other.sendall(GET + b"\r\n")
                assert statuses(one_answer(other)) == [200]

    def test_connections_of_all_are_refused(self, server: Address) -> None:
        wait_until(lambda: not server.open_connections)
        with ExitStack() as held:
            for number in range(LIMITS.connections):
                held.enter_context(server.connect(f"127.0.0.{2 + number % 2}"))
            wait_until(lambda: server.open_connections == LIMITS.connections)
            assert statuses(server.ask(GET + b"\r\n")) == [503]

    def test_addresses_that_one_client_can_choose_from_count_as_one(self) -> None:
        assert network("2001:db8::1") == network("2001:db8::ffff:1") != network("2001:db8:0:1::1")
        assert network("::ffff:10.0.0.1") == network("10.0.0.1") != network("10.0.0.2")
        assert network("fe80::1%eth0") == network("fe80::2")
        assert network("") == ""


def one_answer(client: socket.socket) -> bytes:
    """One answer, after which the connection stays open."""
    got = b""
    while not (head := re.match(rb"(?s).*?content-length: (\d+)\r\n.*?\r\n\r\n", got)) or len(got) < head.end() + int(
        head[1]
    ):
        got += (part := client.recv(1 << 16))
        assert part
    return got


def trickled(client: socket.socket, part: bytes) -> bytes:
    """What comes until the server closes the connection, while something is sent every few milliseconds."""
    got = b""
    client.settimeout(SHORT / 20)
    stop = time.monotonic() + 20 * SHORT
    while time.monotonic() < stop:
        try:
            client.sendall(part)
            if not (received := client.recv(1 << 16)):
                return got
            got += received
        except TimeoutError:
            continue
        except ConnectionError:
            return got
    raise AssertionError("the connection is still open")


def wait_until(condition: Callable[[], bool]) -> None:
    stop = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < stop
        time.sleep(0.005)


def test_garbage_is_looked_for_only_among_what_requests_made(searcher: Searcher) -> None:
    with serving(create_app(searcher, limits=LIMITS), LIMITS):
        assert gc.get_freeze_count() > len(gc.get_objects())
    assert gc.get_freeze_count() == 0
