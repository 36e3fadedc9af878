"""Two servers on one folder, while documents change and the index is deleted and built again."""

import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests import checkpoints

from chamfer import Encoder, Index, build_index
from torture.tally import Attack, Tally

ATTACK = Attack("Two servers on one folder that changes", "requests", count=600, quick=40, seconds=120)

TEXTS = {f"d{number}": f"the cat sat on a mat and {'dog ' * (number % 5)}barks" for number in range(30)}
CHANGE_EVERY = 20


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Ask both servers in turn, and change the index every few requests."""
    tally, stop = Tally(), time.monotonic() + seconds
    checkpoint, index = folder / "checkpoint", folder / "index"
    checkpoint.mkdir()
    checkpoints.make_plain(checkpoint)
    encoder = Encoder.load(str(checkpoint), device="cpu")
    build_index(index, TEXTS, encoder)
    with ExitStack() as stack:
        servers = [stack.enter_context(_served(index)) for _ in range(2)]
        for number in range(count):
            if time.monotonic() > stop:
                break
            if number % CHANGE_EVERY == CHANGE_EVERY - 1:
                _change(index, encoder, number // CHANGE_EVERY + seed)
            _ask(servers[number % 2][0], tally, f"seed {seed}, request {number}")
            tally.attempts += 1
        for _, process in servers:
            if process.poll() is not None:
                tally.fail("crashes", f"a server ended with status {process.returncode}")
    return tally


def _change(index: Path, encoder: Encoder, number: int) -> None:
    """Add, delete, compact; every fifth time, delete the folder and build the index again."""
    if number % 5 == 4:
        while index.exists():  # a server may put derived files into it meanwhile
            shutil.rmtree(index, ignore_errors=True)
        build_index(index, TEXTS, encoder)
        return
    with Index.open(index, encoder=encoder) as opened:
        if number % 5 == 3:
            opened.compact()
        elif number % 5 == 2:
            opened.delete(["d1"])
        else:
            opened.add({f"d{number % 30}": TEXTS[f"d{number % 30}"]}, replace=True)


def _ask(port: int, tally: Tally, where: str) -> None:
    body = json.dumps({"query": "why do cats sleep", "k": 5}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/search", body, {"content-type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        tally.count(f"answered with {error.code}")
        if error.code == 500:
            tally.fail("raw", f"{where}: 500: {error.read()[:200]!r}")
        return
    except OSError as error:
        tally.fail("broken", f"{where}: no answer: {error}")
        return
    tally.count("answered")
    _check(found["hits"], tally, where)


def _check(hits: list[dict[str, Any]], tally: Tally, where: str) -> None:
    scores = [hit["score"] for hit in hits]
    if len(hits) != 5 or scores != sorted(scores, reverse=True):
        tally.fail("wrong", f"{where}: {len(hits)} hits, or not sorted")
    for hit in hits:
        if TEXTS.get(hit["id"]) != hit["text"]:
            tally.fail("wrong", f"{where}: {hit['id']} has a text that it never had")
    by_text: dict[str, set[float]] = {}
    for hit in hits:
        by_text.setdefault(hit["text"], set()).add(hit["score"])
    if any(max(some) - min(some) > 1e-4 for some in by_text.values()):
        tally.fail("wrong", f"{where}: equal texts have different scores")


@contextmanager
def _served(index: Path) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", "chamfer.cli.app", "serve", str(index), "--port", "0"]
    log = index.with_name(f"server-{time.monotonic_ns()}.log")
    with log.open("w") as errors, subprocess.Popen(command, stderr=errors, text=True) as process:
        try:
            until = time.monotonic() + 90
            while " at http://" not in log.read_text() and process.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            yield int(log.read_text().split(" at http://")[1].split()[0].rpartition(":")[2]), process
        finally:
            process.terminate()
