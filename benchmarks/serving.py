"""The server under load: a closed loop of connections on loopback, memory, and the overhead of HTTP."""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from chamfer import Encoder, Searcher, build_index
from chamfer.data.docstrings import docstring_collection
from chamfer.reproduce.environment import environment

RESULTS = Path(__file__).parent / "results" / "serving.json"
INDEX = Path(__file__).parents[1] / "build" / "serving" / "index"
LENGTH = 128


@contextmanager
def served(index: Path) -> Iterator[tuple[int, int]]:
    """Start a server; gives its port and process id."""
    command = [sys.executable, "-m", "chamfer.cli.app", "serve", str(index), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if " at http://" in line)
        yield int(line.split(" at http://")[1].split()[0].rpartition(":")[2]), process.pid
        process.terminate()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, query: str) -> int:
    """Send one search on an open connection, and return the status."""
    body = json.dumps({"query": query, "k": 10}).encode()
    head = f"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(answer.split("content-length:")[1].split("\r\n")[0])
    await reader.readexactly(length)
    return int(answer.split()[1])


async def load(port: int, pid: int, queries: Sequence[str], connections: int, seconds: float) -> dict[str, Any]:
    """Closed loop: every connection sends its next request once it has a response."""
    stop = time.perf_counter() + seconds
    taken: list[float] = []
    statuses: Counter[str] = Counter()

    async def connection(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for query in cycle(queries[number::connections]):
            started = time.perf_counter()
            if started >= stop:
                break
            try:
                status = str(await ask(reader, writer, query))
            except (OSError, asyncio.IncompleteReadError) as error:
                status = type(error).__name__
            statuses[status] += 1
            if status == "200":
                taken.append(time.perf_counter() - started)
            elif status == "429":
                await asyncio.sleep(0.1)
        writer.close()

    memory = asyncio.create_task(_memory(pid, seconds))
    await asyncio.gather(*(connection(number) for number in range(connections)))
    return {
        "connections": connections,
        "seconds": seconds,
        "answered_per_second": round(len(taken) / seconds, 1),
        "statuses": dict(statuses),
        "milliseconds": _quantiles(taken),
        "memory_mb": await memory,
    }


async def _memory(pid: int, seconds: float) -> list[float]:
    """Memory of the server, sampled ten times."""
    held = []
    for _ in range(10):
        await asyncio.sleep(seconds / 10)
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        held.append(round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1))
    return held


async def alone(port: int, queries: Sequence[str]) -> list[float]:
    """Latency of single searches over HTTP."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    taken = []
    for query in queries:
        started = time.perf_counter()
        assert await ask(reader, writer, query) == 200
        taken.append(time.perf_counter() - started)
    writer.close()
    return taken


def by_library(searcher: Searcher, queries: Sequence[str]) -> list[float]:
    """Latency of the same searches in the library."""
    taken = []
    for query in queries:
        started = time.perf_counter()
        searcher.search(query, 10)
        taken.append(time.perf_counter() - started)
    return taken


def _quantiles(taken: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(taken, n=100)
    return {name: round(1e3 * cuts[place - 1], 2) for name, place in (("p50", 50), ("p90", 90), ("p99", 99))}


def main() -> None:
    """Build the demo index if necessary, load the server, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    collection = docstring_collection()
    if not INDEX.exists():
        build_index(INDEX, collection.documents, Encoder.load("minilm", document_length=LENGTH))
    queries = list(collection.judged_queries("test").values())
    searcher = Searcher.open(INDEX)
    with served(INDEX) as (port, pid):
        first = queries[:300]
        asyncio.run(alone(port, first[:50]))
        by_library(searcher, first[:50])
        # Alternating, so that slow phases of the machine affect both.
        library: list[float] = []
        server: list[float] = []
        for start in range(0, len(first), 50):
            library += by_library(searcher, first[start : start + 50])
            server += asyncio.run(alone(port, first[start : start + 50]))
        closed = asyncio.run(load(port, pid, queries, 32, arguments.seconds))
        crowd = asyncio.run(load(port, pid, queries, 120, arguments.seconds / 4))
    second = closed["memory_mb"][len(closed["memory_mb"]) // 2 - 1 :]
    measured = {
        "environment": environment(),
        "documents": len(searcher),
        "library_milliseconds": _quantiles(library),
        "server_milliseconds": _quantiles(server),
        "overhead_p50_milliseconds": round(1e3 * (statistics.median(server) - statistics.median(library)), 2),
        "closed_loop": {**closed, "memory_growth_of_second_half": round(second[-1] / second[0] - 1, 4)},
        "crowd": crowd,
    }
    RESULTS.write_text(json.dumps(measured, indent=2) + "\n")
    print(json.dumps({name: value for name, value in measured.items() if name != "environment"}, indent=2))


if __name__ == "__main__":
    main()
