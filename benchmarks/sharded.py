"""Two shards with two replicas each, under load while replicas are killed: whether answers stay correct."""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from chamfer import Encoder, Searcher, build_index
from chamfer.data.docstrings import docstring_collection
from chamfer.index.shards import owner_of, version_folder
from chamfer.index.splitting import split_index
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json

RESULTS = Path(__file__).parent / "results" / "sharded.json"
BUILD = Path(__file__).parents[1] / "build"
LENGTH = 128
SHARDS, REPLICAS, K = 2, 2, 10
# Queries encoded in a batch differ in the last bits from those encoded alone.
CLOSE = 1e-5


@contextmanager
def served(shards: Path, seconds: float) -> Iterator[tuple[int, int]]:
    """Start a server; gives its port and process id."""
    command = [sys.executable, "-m", "chamfer.cli.app", "serve", str(shards), "--port", "0", "--ray", "local"]
    command += ["--replicas", str(REPLICAS), "--shard-seconds", str(seconds)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        line = next((line for line in process.stderr if " at http://" in line), None)
        if line is None:
            raise SystemExit(f"the server did not start; it ended with {process.wait()}")
        try:
            yield int(line.split(" at http://")[1].split()[0].rpartition(":")[2]), process.pid
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


def replicas_of(server: int, shard: str) -> list[int]:
    """Processes of a shard's replicas that this server started."""
    parent_of, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent_of[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            title = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it has ended
            continue
        if title.startswith("ray::ServeReplica:") and f":{shard}" in title:
            found.append(int(folder.name))
    return sorted(process for process in found if server in _ancestors(process, parent_of))


def _ancestors(process: int, parent_of: Mapping[int, int]) -> Iterator[int]:
    while process in parent_of:
        process = parent_of[process]
        yield process


@dataclass
class Load:
    """What the clients of a closed loop saw."""

    expected: Mapping[str, Sequence[tuple[str, float]]]
    killed: float = float("inf")
    verdicts: Counter[str] = field(default_factory=Counter)
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)

    def judge(self, query: str, status: int, answer: dict[str, Any]) -> str:
        """Classify a response."""
        if status != 200:
            return f"error {status}"
        found = [(one["id"], one["score"]) for one in answer["hits"]]
        if answer["partial"]:
            return "marked partial"
        expected = self.expected[query]
        scores = dict(expected)
        right = len(found) == K and all(
            abs(score - scores.get(name, float("inf"))) <= CLOSE and abs(score - other) <= CLOSE
            for (name, score), (_, other) in zip(found, expected[:K], strict=True)
        )
        if right:
            return "right"
        shards = {owner_of(name, SHARDS) for name, _ in found}
        return "wrong" if len(shards) == SHARDS and len(found) == K else "silently partial"

    async def connection(self, port: int, queries: Sequence[str], stop: float) -> None:
        """Send the next request once there is a response."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for query in cycle(queries):
            started = time.perf_counter()
            if started >= stop:
                break
            try:
                verdict = self.judge(query, *await ask(reader, writer, query))
            except (OSError, asyncio.IncompleteReadError) as error:
                verdict = f"error {type(error).__name__}"
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            ended = time.perf_counter()
            self.verdicts[verdict] += 1
            (self.before if ended < self.killed else self.after).append(ended - started)
        writer.close()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, query: str) -> tuple[int, Any]:
    """Send one search on an open connection."""
    body = json.dumps({"query": query, "k": K}).encode()
    head = f"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(answer.split("content-length:")[1].split("\r\n")[0])
    return int(answer.split()[1]), json.loads(await reader.readexactly(length))


async def loaded(
    port: int,
    server: int,
    expected: Mapping[str, Sequence[tuple[str, float]]],
    *,
    connections: int,
    seconds: float,
    kill: int,
    hide: Path | None = None,
) -> dict[str, Any]:
    """Run a closed loop of connections; halfway through, kill replicas of one shard.

    Where a folder is given, it is hidden until three quarters of the time are over, so that no replica can open it.
    """
    load = Load(expected)
    queries = list(expected)
    stop = time.perf_counter() + seconds
    asking = [
        asyncio.create_task(load.connection(port, queries[number::connections], stop)) for number in range(connections)
    ]
    await asyncio.sleep(seconds / 2)
    alive = replicas_of(server, "shard-00")
    load.killed = time.perf_counter()
    if hide is not None:
        hide.rename(hide.with_name("hidden"))
    for process in alive[:kill]:
        os.kill(process, signal.SIGKILL)
    if hide is not None:
        await asyncio.sleep(seconds / 4)
        hide.with_name("hidden").rename(hide)
    replaced: float | None = None
    while time.perf_counter() < stop and replaced is None:
        await asyncio.sleep(0.1)
        if len(set(replicas_of(server, "shard-00")) - set(alive[:kill])) == len(alive):
            replaced = round(time.perf_counter() - load.killed, 1)
    await asyncio.gather(*asking)
    named = ("right", "wrong", "silently partial", "marked partial")
    return {
        "connections": connections,
        "seconds": seconds,
        "replicas_of_the_shard": len(alive),
        "killed": len(alive[:kill]),
        "processes_replaced_after_seconds": replaced,
        **{name.replace(" ", "_"): load.verdicts[name] for name in named},
        "errors": {name: count for name, count in load.verdicts.items() if name not in named},
        "answers_per_second": round(sum(load.verdicts.values()) / seconds, 1),
        "milliseconds_before": _quantiles(load.before),
        "milliseconds_after": _quantiles(load.after),
    }


def _quantiles(taken: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(taken, n=100)
    told = {name: cuts[place - 1] for name, place in (("p50", 50), ("p90", 90), ("p99", 99))}
    return {name: round(1e3 * value, 1) for name, value in {**told, "most": max(taken)}.items()}


def main() -> None:
    """Build and split the demo index if necessary, load the server, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--shard-seconds", type=float, default=10.0)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--index", type=Path, default=BUILD / "serving" / "index")
    parser.add_argument("--shards", type=Path, default=BUILD / "sharded" / "shards")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    collection = docstring_collection()
    if not arguments.index.exists():
        build_index(arguments.index, collection.documents, Encoder.load("minilm", document_length=LENGTH))
    started = time.perf_counter()
    made = split_index(arguments.index, arguments.shards, shards=SHARDS)
    splitting = time.perf_counter() - started
    queries = list(collection.judged_queries("test").values())[: arguments.queries]
    searcher = Searcher.open(arguments.index)
    # A few more than k: documents with the score of the last one may take its place.
    expected = {query: [hit[:2] for hit in searcher.search(query, 2 * K)] for query in queries}
    measured: dict[str, Any] = {}
    gone = version_folder(arguments.shards, made.version) / made.shards[0].name
    for name, kill, hide in (
        ("one_replica_killed", 1, None),
        ("all_replicas_of_a_shard_killed", REPLICAS, None),
        ("a_shard_gone", REPLICAS, gone),
    ):
        with served(arguments.shards, arguments.shard_seconds) as (port, server):
            asyncio.run(loaded(port, server, dict(list(expected.items())[:8]), connections=4, seconds=4, kill=0))
            measured[name] = asyncio.run(
                loaded(
                    port,
                    server,
                    expected,
                    connections=arguments.connections,
                    seconds=arguments.seconds,
                    kill=kill,
                    hide=hide,
                )
            )
            print(name, measured[name], flush=True)
    told = {
        "environment": environment(),
        "documents": made.documents,
        "documents_in_shards": [part.documents for part in made.shards],
        "splitting_seconds": round(splitting, 2),
        "shards": SHARDS,
        "replicas": REPLICAS,
        "shard_seconds": arguments.shard_seconds,
        **measured,
    }
    write_json(arguments.out, told)
    print(json.dumps({name: value for name, value in told.items() if name != "environment"}, indent=2))


if __name__ == "__main__":
    main()
