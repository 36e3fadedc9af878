"""Hostile clients against a running server, while a good client measures its own latency."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.checkpoints import make_plain
from tests.conftest import DOCUMENTS

from chamfer import Encoder, build_index
from chamfer.serve.limits import Limits
from torture.tally import Attack, Tally

ATTACK = Attack("Hostile HTTP clients", "connections", count=10_000, quick=100, seconds=150, alone=True)

# The 99th percentile of the good client's latency may grow by this factor.
MOST_SLOWDOWN = 3.0

# Requests of the good client, quiet and attacked, below which a 99th percentile is mostly chance: it is not judged, and
# the attack is incomplete.
ENOUGH = 400

# Seconds that the good client waits for an answer. A refusal counts as that long: quick refusals are no service.
PATIENCE = 60.0

# Largest growth of the server's memory, in MB: what its limits let requests take, and some for parsing them.
MOST_GROWTH = 1024

# Seconds that the server waits for a request or its body, and that an attack goes on; a short version has shorter ones,
# so that it too finds connections that are held.
WAITS, LONGEST = Limits.head_seconds, 14.0
SHORT_WAITS, SHORT_LONGEST = 1.0, 4.0

# The command line with other time limits for connections, which are no options of it.
SERVE = """
from functools import partial
from chamfer.cli import app, serve
serve.Limits = partial(serve.Limits, head_seconds={0}, reading_seconds={0}, writing_seconds={0})
app.main()
"""

# Seconds between two requests of the good client.
PAUSE = 0.01

HONEST = (200, 429, 503)
HOSTILE = Path(__file__).with_name("hostile.py")


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Start a server, attack it, and measure before and meanwhile."""
    tally, is_short = Tally(), count <= ATTACK.quick
    waits, longest = (SHORT_WAITS, SHORT_LONGEST) if is_short else (WAITS, LONGEST)
    with served(folder, waits) as (process, port, log), closing(Good(port)) as good:
        good.ask_for(0.5)  # warm
        quiet = good.ask_for(max(1.0, min(20.0, seconds / 5)))
        before = memory(process.pid)
        arguments = [str(one) for one in (port, count, seed, seconds, longest)]
        with subprocess.Popen([sys.executable, str(HOSTILE), *arguments], stdout=subprocess.PIPE, text=True) as hostile:
            attacked: list[float] = []
            while hostile.poll() is None:
                attacked += good.ask_for(0.2)
            assert hostile.stdout is not None
            found = json.loads(hostile.stdout.read())
        peak = memory(process.pid, "VmHWM")
        _judge(tally, good, found, log.read_text())
        if process.poll() is not None:
            tally.fail("crashes", f"seed {seed}: the server ended with {process.returncode}")
        if peak - before > MOST_GROWTH:
            tally.fail("broken", f"seed {seed}: the server's memory grew from {before} to {peak} MB")
    slowdown = percentile(attacked, 0.99) / percentile(quiet, 0.99)
    if min(len(quiet), len(attacked)) < ENOUGH:
        requests = f"{len(quiet)} quiet and {len(attacked)} attacked requests"
        tally.incomplete.append(f"{requests} of the good client are too few to judge its p99")
    elif slowdown > MOST_SLOWDOWN:
        tally.fail("broken", f"seed {seed}: the good client's p99 grew by a factor of {slowdown:.1f}")
    for name, latencies in (("quiet", quiet), ("attacked", attacked)):
        for share in (0.5, 0.99):
            tally.facts[f"{name} p{100 * share:g}, ms"] = round(1000 * percentile(latencies, share), 1)
    tally.facts["quiet requests of the good client"] = len(quiet)
    tally.facts["attacked requests of the good client"] = len(attacked)
    tally.facts["peak memory of the server, MB"] = peak
    tally.facts["growth of its memory, MB"] = peak - before
    return tally


def _judge(tally: Tally, good: "Good", found: dict[str, Any], log: str) -> None:
    tally.attempts = sum(found["tried"].values())
    for kind, number in found["tried"].items():
        tally.facts[kind] = number
    for status, number in found["answered"].items():
        tally.facts[f"answered with {status}"] = number
        if status == "500":
            tally.fail("raw", f"{number} hostile clients were answered with 500")
    if found["held"]:
        tally.fail("broken", f"{found['held']} connections were still open after their time limit")
    tally.facts["held until the server closed them"] = found["closed"]
    for line in (line for line in log.splitlines() if "Traceback" in line or "Exception" in line):
        tally.fail("raw", f"in the server's log: {line}")
    for code, number in good.statuses.items():
        if code not in HONEST:
            told = f"the good client was answered {number} times with {code}" if code else "a connection was lost"
            tally.fail("raw" if code == 500 else "broken", told)
    tally.facts["429 or 503 for the good client"] = good.statuses.get(429, 0) + good.statuses.get(503, 0)


class Good:
    """A client with one connection and small searches, from an address of its own."""

    def __init__(self, port: int) -> None:
        self.statuses: dict[int, int] = {}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def ask_for(self, seconds: float) -> list[float]:
        """The latency of every request that is made in this time."""
        took, stop = [], time.perf_counter() + seconds
        while (started := time.perf_counter()) < stop:
            status = self._ask()
            took.append(time.perf_counter() - started if status == 200 else PATIENCE)
            self.statuses[status] = self.statuses.get(status, 0) + 1
            time.sleep(PAUSE)
        return took

    def _ask(self) -> int:
        body = json.dumps({"query": "why do cats sleep", "k": 3})
        try:
            self._connection.request("POST", "/search", body, {"content-type": "application/json"})
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return 0
        return answer.status


@contextmanager
def served(folder: Path, waits: float = WAITS) -> Iterator[tuple["subprocess.Popen[bytes]", int, Path]]:
    """A server of a small index, which waits this many seconds for requests: its process, port and log."""
    model, index, log = folder / "model", folder / "index", folder / "log"
    model.mkdir()
    make_plain(model)
    build_index(index, DOCUMENTS, Encoder.load(str(model)), progress=False)
    command = [sys.executable, "-c", SERVE.format(waits), "serve", str(index), "--port", "0"]
    with log.open("wb") as errors, subprocess.Popen(command, stderr=errors, env=dict(os.environ)) as process:
        try:
            while " at http://" not in (told := log.read_text()):
                if process.poll() is not None:
                    raise RuntimeError(f"the server did not start: {told}")
                time.sleep(0.05)
            yield process, int(told.split(" at http://")[1].split()[0].rpartition(":")[2]), log
        finally:
            process.terminate()
            process.wait(60)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def memory(pid: int, name: str = "VmRSS") -> int:
    """Memory of a process in MB; its peak is ``VmHWM``."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith(f"{name}:")), 0)
