"""Batch jobs on two Ray nodes (separate processes on loopback) compared with one process: identical bytes, and speed.

Writes ``results/ray-batch.json``. Workers and the process they are compared with have one thread each: another number
of threads may change the last bits of vectors. A worker is killed while the two encode the whole collection.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import ray
import torch
from ray.cluster_utils import Cluster

from chamfer import Encoder, Searcher
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import Collection, load_collection
from chamfer.data.corpus import documents_from
from chamfer.evaluate.on_collection import evaluate_collection
from chamfer.evaluate.setup import Setup
from chamfer.index.building import build, settings_for
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json
from chamfer.support.progress import Advance, ignore
from chamfer.weights.counting import count_tokens
from chamfer.workers.jobs import IN_PROCESS, Table, Workers
from chamfer.workers.ray_driver import ray_workers

RESULT = Path(__file__).parent / "results" / "ray-batch.json"
# Documents per throughput measurement, and repeats; each system encodes the whole collection once.
SAMPLE, REPEATS = 512, 3
LENGTH = 64  # maximum document length in tokens
OBJECT_STORE = 2_000_000_000
ALONE = "one process of 1 thread"
T = TypeVar("T")


@contextmanager
def head(object_store: int) -> Iterator[Cluster]:
    """A cluster of one node with one worker; its processes are children of this one and end with it."""
    settings = {"num_cpus": 1, "object_store_memory": object_store, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=settings)
    try:
        yield cluster
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]  # ends what it started, by process id


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """The result of a call, and its time in seconds."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def digest(folder: Path) -> dict[str, str]:
    """Digests of all files except databases, whose pages have no fixed order, and locks."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".sqlite" and "lock" not in path.name
    }


def where(table: Table, advance: Advance) -> Table:
    """A job that reports its node and process."""
    time.sleep(0.5)
    return {"node": [ray.get_runtime_context().get_node_id()], "process": [os.getpid()]}


def workers_of(cluster: Cluster) -> list[int]:
    """Worker processes that are busy now: children of the raylets, which Ray names after their task."""
    nodes = cluster.list_all_nodes()  # type: ignore[no-untyped-call]
    raylets = {node.all_processes["raylet"][0].process.pid for node in nodes}
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name, status = (path / "cmdline").read_bytes(), (path / "status").read_text()
        except OSError:  # it has ended
            continue
        parent = int(status.split("PPid:")[1].split()[0])
        if parent in raylets and name.startswith(b"ray::MapBatches"):
            found.append(int(path.name))
    return found


def main() -> None:
    """Measure, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path, nargs="?", default=Path("../shared/data/scifact"))
    parser.add_argument("--documents", type=int, help="number of documents (default: all)")
    parser.add_argument("--queries", type=int, help="number of judged queries (default: all)")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    collection = part_of(load_collection(arguments.collection), arguments.documents, arguments.queries)
    folder = Path(tempfile.mkdtemp(prefix="chamfer-ray-"))
    try:
        found = Bench(collection, folder).run()
    finally:
        shutil.rmtree(folder)
    write_json(arguments.out, found)
    print(json.dumps({key: value for key, value in found.items() if key != "environment"}, indent=2))


class Bench:
    """Process one collection in one process and on two nodes."""

    def __init__(self, collection: Collection, folder: Path) -> None:
        self.collection, self.folder = collection, folder
        self.encoder = Encoder.load("minilm", document_length=LENGTH)
        self.seconds: dict[str, float] = {}
        self.rates: dict[str, list[float]] = {}

    def run(self) -> dict[str, Any]:
        """All results, ready for JSON."""
        threads = torch.get_num_threads()
        self.measure(f"one process of {threads} threads", IN_PROCESS)
        torch.set_num_threads(1)
        self.measure(ALONE, IN_PROCESS)
        expected = self.everything(ALONE, IN_PROCESS)
        killed: list[int] = []
        with head(OBJECT_STORE) as cluster:
            with ray_workers(cluster.address) as workers:
                self.measure("one worker", workers)
            cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE)
            cluster.wait_for_nodes()
            with ray_workers(cluster.address) as workers:
                places = list(workers.map(where, [{"number": [n]} for n in range(8)]))
                self.measure("two workers", workers)

                def kill_one(done: int) -> None:
                    if done and not killed and (working := workers_of(cluster)):
                        killed.append(working[0])
                        os.kill(working[0], signal.SIGKILL)

                spread = self.everything("two workers", workers, kill_one)
        rates = {name: statistics.median(own) for name, own in self.rates.items()}
        return {
            "environment": environment(),
            "ray": ray.__version__,
            "collection": self.collection.name,
            "documents": len(self.collection.documents),
            "queries": len(self.collection.judged_queries("test")),
            "document_length": LENGTH,
            "documents_for_rates": SAMPLE,
            "documents_per_second": {name: [round(rate, 1) for rate in own] for name, own in self.rates.items()},
            "two_workers_against_one": round(rates["two workers"] / rates["one worker"], 2),
            "seconds": {name: round(taken, 1) for name, taken in self.seconds.items()},
            "tables_of_each_node": sorted(Counter(table["node"][0] for table in places).values()),
            "killed": len(killed),
            "same": {name: spread[name] == expected[name] for name in expected},
        }

    def measure(self, name: str, workers: Workers) -> None:
        """Documents encoded per second, several times, after a warm-up."""
        documents = dict(list(self.collection.documents.items())[:SAMPLE])
        for turn in range(REPEATS + 1):
            seconds = self.encode(self.folder / f"{name} {turn}", documents, workers)[1]
            if turn:
                self.rates.setdefault(name, []).append(len(documents) / seconds)
        print(name, [round(rate, 1) for rate in self.rates[name]], flush=True)

    def encode(
        self, cache: Path, documents: Mapping[str, str], workers: Workers, advance: Advance = ignore
    ) -> tuple[EncodedCorpus, float]:
        """Encode into a folder, and return the seconds."""
        ids, texts = list(documents), list(documents.values())
        return timed(lambda: encode_cached(cache, self.encoder, ids, texts, workers=workers, advance=advance))

    def everything(self, name: str, workers: Workers, advance: Advance = ignore) -> dict[str, Any]:
        """Vectors, index, frequencies and rankings of the whole collection."""
        collection, index = self.collection, self.folder / f"index-{name}"
        corpus, encoding = self.encode(self.folder / name, collection.documents, workers, advance)
        documents, settings = documents_from(collection.documents), settings_for(self.encoder)
        _, building = timed(lambda: build(index, documents, self.encoder, settings, workers=workers))
        texts = list(collection.documents.values())
        counted, counting = timed(lambda: count_tokens(self.encoder, texts, workers=workers))
        weights = ["uniform", "idf-soft"]
        ranked, ranking = timed(
            lambda: evaluate_collection(Setup(collection, self.encoder, self.folder / name, workers=workers), weights)
        )
        seconds = {"encode": encoding, "build": building, "count": counting, "evaluate": ranking}
        self.seconds |= {f"{step}, {name}": taken for step, taken in seconds.items()}
        print(name, seconds, flush=True)
        searcher = Searcher.open(index, encoder=self.encoder)
        asked = list(collection.judged_queries("test").values())
        return {
            "vectors": digest(corpus.folder),
            "files of the index": digest(index),
            "frequencies": counted.counts.tolist(),
            "rankings": [(system.name, system.rankings) for system in ranked.systems],
            "searches": [[(hit.id, hit.score) for hit in hits] for hits in searcher.search(asked)],
        }


def part_of(collection: Collection, documents: int | None, queries: int | None) -> Collection:
    """The first queries and documents, including all judged documents of these queries."""
    if documents is None and queries is None:
        return collection
    judged = dict(list(collection.judgements["test"].items())[:queries])
    wanted = dict.fromkeys(name for grades in judged.values() for name in grades if name in collection.documents)
    names = list(dict.fromkeys([*wanted, *collection.documents]))[:documents]
    return Collection(
        name=collection.name,
        documents={name: collection.documents[name] for name in names},
        queries={name: collection.queries[name] for name in judged},
        judgements={"test": judged},
    )


if __name__ == "__main__":
    main()
