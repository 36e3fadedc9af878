"""The server on a real port: third-party clients, a stop in the middle of work, generated requests."""

import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

import httpx

from chamfer import Encoder, Index, InputError, TokenWeights, build_index
from chamfer.serve import running
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
def served(
    index: Path, *options: str, ends: tuple[int, ...] = STOPPED, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process, which must stop cleanly."""
    command = [sys.executable, "-m", "chamfer.cli.app", "serve", str(index), "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    with process:
        assert process.stderr is not None
        address = next(line.split(" at ")[1].split()[0] for line in process.stderr if " at http://" in line)
        yield process, address
        process.terminate()
        assert process.wait(30) in ends


class Server(NamedTuple):
    """A server that changes documents, and its index."""

    process: subprocess.Popen[str]
    address: str
    folder: Path


@pytest.fixture(scope="module")
def server(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    changed = Path(shutil.copytree(index, tmp_path_factory.mktemp("changed") / "index"))
    with served(changed, "--writable", ends=(*STOPPED, -signal.SIGKILL), CHAMFER_API_KEY="secret") as running:
        yield Server(*running, changed)


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    return server.address


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
    # By default 413, which a body above the limit gets, is no refusal of an invalid request.
    refusals = '[checks.negative_data_rejection]\nexpected-statuses = ["4xx", 503]\n'
    (tmp_path / "schemathesis.toml").write_text(refusals)
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    command = [sys.executable, "-c", program, "run", f"{address}/openapi.json"]
    examples = "200" if long else "5"
    # One worker: with two, ast.parse of CPython 3.11, which hypothesis calls, fails if a thread is switched inside it.
    options = ["--header", "Authorization: Bearer secret", "--max-examples", examples, "--seed", "1", "--workers", "1"]
    phases = ["--phases", "examples,coverage,fuzzing"]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "tests.served_formats",
        "SERVED_WEIGHTS": str(tmp_path / "weights.safetensors"),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    tried = subprocess.run([*command, *options, *phases], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert tried.returncode == 0, tried.stdout[-5000:]
    assert "Tested: 25" in tried.stdout


def test_a_kill_while_documents_change_leaves_whole_batches(server: Server) -> None:  # the last test of this server
    process, address, folder = server
    before, size, answered = set(Index.open(folder)), 40, list[int]()

    def change() -> None:
        for batch in itertools.count():
            documents = [{"id": f"batch {batch} {n}", "text": f"{QUERY} {batch} {n}"} for n in range(size)]
            key = {"authorization": "Bearer secret"}
            answer = httpx.put(f"{address}/documents", json={"documents": documents}, headers=key, timeout=60)
            assert (answer.status_code, answer.json()["added"]) == (200, size)
            answered.append(batch)

    with ThreadPoolExecutor(1) as thread:
        changing = thread.submit(change)
        while len(answered) < 2 and not changing.done():
            time.sleep(0.002)
        time.sleep(random.uniform(0, 0.1))
        process.kill()
        assert isinstance(changing.exception(), httpx.TransportError)
    left = Index.open(folder)
    assert left.verify(progress=False) == []
    assert before <= set(left)
    batches = Counter(name.split()[1] for name in left if name not in before)
    assert set(batches.values()) == {size}
    assert set(map(str, answered)) <= set(batches)
