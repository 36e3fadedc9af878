"""The server on a real port: third-party clients, slow clients, a stop in the middle of work, generated requests."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

import httpx
import uvicorn

from chamfer import Encoder, InputError, Searcher, TokenWeights, build_index
from chamfer.serve import running
from chamfer.serve.app import create_app
from chamfer.serve.limits import Limits
from chamfer.serve.service import Service
from chamfer.serve.single import IndexBackend
from chamfer.serve.versions import Versions
from tests.conftest import DOCUMENTS

QUERY = "why do cats sleep"

# uvicorn ends by the signal that stopped it, once everything is done.
STOPPED = (0, -signal.SIGTERM)


@pytest.fixture(scope="module")
def index(plain_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "index"
    build_index(folder, DOCUMENTS, Encoder.load(str(plain_checkpoint)))
    return folder


@contextmanager
def served(index: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process, which must stop cleanly."""
    command = [sys.executable, "-m", "chamfer.cli.app", "serve", str(index), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    with process:
        assert process.stderr is not None
        address = next(line.split(" at ")[1].split()[0] for line in process.stderr if " at http://" in line)
        yield process, address
        process.terminate()
        assert process.wait(30) in STOPPED


@pytest.fixture(scope="module")
def address(index: Path) -> Iterator[str]:
    with served(index, CHAMFER_API_KEY="secret") as (_, address):
        yield address


def test_coheres_client_ranks_by_changing_a_url(address: str) -> None:
    cohere = pytest.importorskip("cohere", reason="Cohere's client is not installed")
    texts = list(DOCUMENTS.values())
    asked = {"query": QUERY, "documents": texts}
    sent = httpx.post(f"{address}/rerank", json=asked, headers={"authorization": "Bearer secret"}).json()
    expected = [(one["index"], one["relevance_score"]) for one in sent["results"]]
    with cohere.ClientV2(api_key="secret", base_url=address) as new:
        found = new.rerank(model="any", query=QUERY, documents=texts, top_n=3)
        assert [(one.index, one.relevance_score) for one in found.results] == expected[:3]
    with cohere.Client(api_key="secret", base_url=address) as old:
        found = old.rerank(model="any", query=QUERY, documents=texts, return_documents=True)
        assert [(one.index, one.relevance_score) for one in found.results] == expected
        assert found.results[0].document.text == texts[expected[0][0]]
    with cohere.ClientV2(api_key="wrong", base_url=address) as stranger, pytest.raises(cohere.UnauthorizedError):
        stranger.rerank(model="any", query=QUERY, documents=texts)


def test_an_address_that_cannot_be_bound_is_reported_before_anything_is_loaded() -> None:
    with running.listen("127.0.0.1", 0) as taken:
        assert taken.proto == socket.IPPROTO_TCP, "else every answer waits 40 ms for an acknowledgement"
        with pytest.raises(InputError, match="choose another --host or --port"):
            running.listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(InputError, match="not an address of this machine"):
        running.listen("999.1.1.1", 0)


def test_slow_clients_are_given_up_and_keep_nobody_waiting(
    index: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "HEAD_SECONDS", 0.3)
    limits = Limits(reading_seconds=0.3)
    backend = IndexBackend(Searcher.open(index, encoder=encoder))
    app = create_app(Service(backend, Versions("uniform", "uniform")), limits=limits)
    servers: list[uvicorn.Server] = []
    addresses: list[str] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        servers.append(server)
        asyncio.run(server.serve(sockets))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    thread = threading.Thread(
        target=running.serve,
        args=(app,),
        kwargs={"at": running.listen("127.0.0.1", 0), "limits": limits, "started": addresses.append},
    )
    thread.start()
    while not addresses:
        time.sleep(0.01)
    host, port = addresses[0].removeprefix("http://").split(":")
    head = b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"
    with socket.create_connection((host, int(port))) as slow, socket.create_connection((host, int(port))) as silent:
        slow.settimeout(10)
        silent.settimeout(10)
        slow.sendall(head + b'{"query":')
        assert httpx.post(f"{addresses[0]}/search", json={"query": QUERY}).status_code == 200
        assert b"408" in slow.recv(4096).split(b"\r\n")[0]
        assert silent.recv(10) == b"", "a connection without a request is closed"
    with socket.create_connection((host, int(port))) as second:
        second.settimeout(10)
        second.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nGET /health HTTP/1.1\r\nhost: ")
        received = b""
        while part := second.recv(4096):
            received += part
        assert received.count(b"200 OK") == 1, "the head of the second request never ended"
    servers[0].should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def test_a_stop_finishes_what_is_running(index: Path) -> None:
    texts = [f"{text} {number}" for number in range(180) for text in DOCUMENTS.values()]
    with served(index) as (process, address), ThreadPoolExecutor(1) as thread:
        asked = {"query": QUERY, "documents": texts}
        answer = thread.submit(httpx.post, f"{address}/rerank", json=asked, timeout=60)
        while _metric(address, "chamfer_running") < 2 and not answer.done():  # the question itself is one
            time.sleep(0.002)
        process.send_signal(signal.SIGTERM)
        assert answer.result().status_code == 200
        assert len(answer.result().json()["results"]) == len(texts)
        assert process.wait(30) in STOPPED
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{address}/health")


def _metric(address: str, name: str) -> float:
    lines = httpx.get(f"{address}/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def test_requests_made_from_the_description_find_nothing(
    index: Path, address: str, encoder: Encoder, tmp_path: Path, long: bool
) -> None:
    pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    TokenWeights.uniform(encoder.vocabulary).save(tmp_path / "weights.safetensors")
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    command = [sys.executable, "-c", program, "run", f"{address}/openapi.json"]
    examples = "200" if long else "5"
    options = ["--header", "Authorization: Bearer secret", "--max-examples", examples, "--seed", "1", "--workers", "2"]
    phases = ["--phases", "examples,coverage,fuzzing"]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "tests.served_formats",
        "SERVED_WEIGHTS": str(tmp_path / "weights.safetensors"),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    tried = subprocess.run([*command, *options, *phases], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert tried.returncode == 0, tried.stdout[-5000:]
    assert "Tested: 14" in tried.stdout
