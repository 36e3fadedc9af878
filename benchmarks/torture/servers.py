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

import numpy as np
from tests import checkpoints

from chamfer import Encoder, Index, build_index
from chamfer.kernels import reference
from chamfer.weights.scale import Scale
from torture.tally import Attack, Tally
from torture.truth import TOLERANCE

Ranking = list[tuple[str, float]]

ATTACK = Attack("Two servers on one folder that changes", "requests", count=600, quick=40, seconds=120)

TEXTS = {f"d{number}": f"the cat sat on a mat and {'dog ' * (number % 5)}barks" for number in range(30)}
QUERY = "why do cats sleep"
K = 5
CHANGE_EVERY = 8

# Seconds after the last change within which both servers must know it; they look every second.
LATEST = 30.0


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Ask both servers in turn, and change the index every few requests."""
    tally, stop = Tally(), time.monotonic() + seconds
    checkpoint, index = folder / "checkpoint", folder / "index"
    checkpoint.mkdir()
    checkpoints.make_plain(checkpoint)
    encoder = Encoder.load(str(checkpoint), device="cpu")
    build_index(index, TEXTS, encoder)
    right = _true_rankings(encoder)
    with ExitStack() as stack:
        started = [stack.enter_context(_started(index, number)) for number in range(2)]
        servers = [(_port(*one), one[0]) for one in started]
        for number in range(count):
            if time.monotonic() > stop:
                break
            if number % CHANGE_EVERY == CHANGE_EVERY - 1:
                _change(index, encoder, number // CHANGE_EVERY + seed)
            _ask(servers[number % 2][0], right, tally, f"seed {seed}, request {number}")
            tally.attempts += 1
        _change_last(index, encoder)
        for port, process in servers:
            if process.poll() is not None:
                tally.fail("crashes", f"a server ended with status {process.returncode}")
            else:
                _expect_last(port, right, tally)
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


def _change_last(index: Path, encoder: Encoder) -> None:
    """Add a document that both servers must find first from now on."""
    with Index.open(index, encoder=encoder) as opened:
        opened.add({"last": QUERY})


def _true_rankings(encoder: Encoder) -> list[Ranking]:
    """What the reference kernel ranks first in each commit, with uniform weights: ``d1`` and ``last`` come and go."""
    texts = {**TEXTS, "last": QUERY}
    distinct = sorted({*texts.values()})  # equal texts must have equal scores
    query, documents = encoder.encode_queries([QUERY]), encoder.encode_documents(distinct)
    weights = np.ones(len(query.vectors))
    found = Scale(weights).scores(reference.score(query.vectors, weights, documents))
    scores = {one: float(found[distinct.index(text)]) for one, text in texts.items()}
    rankings = []
    for absent in ({"d1", "last"}, {"last"}, {"d1"}, set[str]()):
        there = sorted((-score, one) for one, score in scores.items() if one not in absent)  # ties by id
        rankings.append([(one, scores[one]) for _, one in there[:K]])
    return rankings


def _expect_last(port: int, right: list[Ranking], tally: Tally) -> None:
    stop = time.monotonic() + LATEST
    while not (hits := _ask(port, right, tally, "after the last change")) or hits[0]["id"] != "last":
        if time.monotonic() > stop:
            tally.fail("lost", "a server does not answer, or not with the last change")
            return
        time.sleep(0.1)


def _ask(port: int, right: list[Ranking], tally: Tally, where: str) -> list[dict[str, Any]] | None:
    """The hits of a search; None if it was refused."""
    body = json.dumps({"query": QUERY, "k": K}).encode()
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
        return None
    except OSError as error:
        tally.fail("broken", f"{where}: no answer: {error}")
        return None
    tally.count("answered")
    hits: list[dict[str, Any]] = found["hits"]
    _check(hits, right, tally, where)
    return hits


def _check(hits: list[dict[str, Any]], right: list[Ranking], tally: Tally, where: str) -> None:
    found = [(hit["id"], hit["score"]) for hit in hits]
    if not any(_same(found, ranking) for ranking in right):
        tally.fail("wrong", f"{where}: {found} is the ranking of no commit")
    for hit in hits:
        if {**TEXTS, "last": QUERY}.get(hit["id"]) != hit["text"]:
            tally.fail("wrong", f"{where}: {hit['id']} has a text that it never had")


def _same(found: Ranking, expected: Ranking) -> bool:
    return [one for one, _ in found] == [one for one, _ in expected] and all(
        abs(score - true) < TOLERANCE for (_, score), (_, true) in zip(found, expected, strict=True)
    )


@contextmanager
def _started(index: Path, number: int) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A server that has been started, and its log."""
    command = [sys.executable, "-m", "chamfer.cli.app", "serve", str(index), "--port", "0", "--weights", "uniform"]
    log = index.with_name(f"server-{number}.log")
    with log.open("w") as errors, subprocess.Popen(command, stderr=errors) as process:
        try:
            yield process, log
        finally:
            process.terminate()


def _port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    """The port of a server, once it listens."""
    until = time.monotonic() + 90
    while " at http://" not in (told := log.read_text()):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"the server did not start: {told}")
        time.sleep(0.05)
    return int(told.split(" at http://")[1].split()[0].rpartition(":")[2])
