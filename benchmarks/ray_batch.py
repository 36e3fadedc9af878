"""Batch work on two Ray nodes, separate processes on loopback, against one process: the same bytes, and how fast.

Writes ``results/ray-batch.json``. Every worker has one thread, and so has the process that it is compared with: another
number of threads may move the last bits of vectors. A second measurement with all threads says whether it does here.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import ray
import torch
from ray.cluster_utils import Cluster

from chamfer import Encoder, Searcher, build_index
from chamfer.batch.on_ray import ray_workers
from chamfer.batch.workers import HERE, Table, Workers
from chamfer.cache import encode_cached
from chamfer.counting import count_tokens
from chamfer.evaluation.beir import Collection, load_collection
from chamfer.evaluation.experiment import evaluate
from chamfer.progress import Advance, ignore
from chamfer.reproduce.environment import environment

RESULT = Path(__file__).parent / "results" / "ray-batch.json"
T = TypeVar("T")


@contextmanager
def head(object_store: int) -> Iterator[Cluster]:
    """A cluster of one node with one worker; its processes are our children and end with us."""
    settings = {"num_cpus": 2, "object_store_memory": object_store, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=settings)
    try:
        yield cluster
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]  # of what it started, by process id


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What work gives, and its seconds."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def digest(folder: Path) -> dict[str, str]:
    """Of every file but databases, whose pages may lie in any order, and locks."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".sqlite" and "lock" not in path.name
    }


def where(table: Table, advance: Advance) -> Table:
    """A job that says on which node and in which process it ran."""
    time.sleep(0.5)
    return {"node": [ray.get_runtime_context().get_node_id()], "process": [os.getpid()]}


def workers_of(cluster: Cluster) -> list[int]:
    """Processes of the cluster that work on a table now: children of its raylets, whom Ray names by what they do."""
    nodes = cluster.list_all_nodes()  # type: ignore[no-untyped-call]
    raylets = {node.all_processes["raylet"][0].process.pid for node in nodes}
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name, status = (path / "cmdline").read_bytes(), (path / "status").read_text()
        except OSError:  # it ended meanwhile
            continue
        parent = int(status.split("PPid:")[1].split()[0])
        if parent in raylets and name.startswith(b"ray::MapBatches"):
            found.append(int(path.name))
    return found


def main() -> None:
    """Measure, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path, nargs="?", default=Path("../shared/data/scifact"))
    parser.add_argument("--documents", type=int, help="only the first so many")
    parser.add_argument("--queries", type=int, help="only the first so many judged queries")
    parser.add_argument("--length", type=int, help="of documents, in tokens; the model's own if not given")
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--object-store", type=int, default=500_000_000)
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    collection = part_of(load_collection(arguments.collection), arguments.documents, arguments.queries)
    ids, texts = list(collection.documents), list(collection.documents.values())
    folder = Path(tempfile.mkdtemp(prefix="chamfer-ray-"))
    all_threads = torch.get_num_threads()
    encoder = Encoder.load("minilm", document_length=arguments.length)
    found: dict[str, Any] = {
        "environment": environment(),
        "ray": ray.__version__,
        "collection": collection.name,
        "documents": len(ids),
        "queries": len(collection.judged_queries("test")),
        "seconds": {},
    }

    def encode(name: str, workers: Workers, advance: Advance = ignore) -> dict[str, str]:
        corpus, seconds = timed(
            lambda: encode_cached(folder / name, encoder, ids, texts, workers=workers, advance=advance)
        )
        found["seconds"][f"encode, {name}"] = round(seconds, 2)
        print(f"{name}: {len(ids)} documents in {seconds:.1f} s, {len(ids) / seconds:.1f} a second", flush=True)
        return digest(corpus.folder)

    def everything(name: str, workers: Workers) -> dict[str, Any]:
        """The index, the frequencies and the rankings."""
        index = folder / f"index-{name}"
        _, built = timed(lambda: build_index(index, collection.documents, encoder, workers=workers))
        counted, counting = timed(lambda: count_tokens(encoder, texts, workers=workers))
        ranked, ranking = timed(
            lambda: evaluate(
                collection,
                encoder,
                ["uniform", "idf-soft"],
                cache=folder / name,
                depth=arguments.depth,
                workers=workers,
            )
        )
        seconds = {"build": built, "count": counting, "evaluate": ranking}
        found["seconds"] |= {f"{step}, {name}": round(taken, 2) for step, taken in seconds.items()}
        searcher = Searcher.open(index, encoder=encoder)
        asked = list(collection.judged_queries("test").values())[:20]
        return {
            "index files": digest(index),
            "frequencies": counted.frequencies.counts.tolist(),
            "rankings": [(system.name, system.rankings) for system in ranked.systems],
            "searches": [[(hit.id, hit.score) for hit in searcher.search(query)] for query in asked],
        }

    torch.set_num_threads(all_threads)
    vectors_all = encode(f"one process of {all_threads} threads", HERE)
    torch.set_num_threads(1)
    here = "one process of 1 thread"
    vectors = encode(here, HERE)
    expected = everything(here, HERE)
    with head(arguments.object_store) as cluster:
        with ray_workers(cluster.address) as workers:
            list(workers.map(where, [{"number": [n]} for n in range(4)]))
            encode_cached(folder / "warm", encoder, ids[:300], texts[:300], workers=workers)
            one = encode("one worker", workers)
        cluster.add_node(num_cpus=1, object_store_memory=arguments.object_store)
        cluster.wait_for_nodes()
        with ray_workers(cluster.address) as workers:
            encode_cached(folder / "warm again", encoder, ids[:600], texts[:600], workers=workers)
            places = list(workers.map(where, [{"number": [n]} for n in range(8)]))
            found["tables of each node"] = sorted(Counter(table["node"][0] for table in places).values())
            two = encode("two workers", workers)
            spread = everything("two workers", workers)
            killed: list[int] = []

            def kill_one(done: int) -> None:
                if done and not killed and (working := workers_of(cluster)):
                    killed.append(working[0])
                    os.kill(working[0], signal.SIGKILL)

            survived = encode("two workers, one killed", workers, kill_one)
    found["killed"] = len(killed)
    found["same"] = {
        "vectors, all threads": vectors_all == vectors,
        "vectors, one worker": one == vectors,
        "vectors, two workers": two == vectors,
        "vectors, a worker killed": survived == vectors,
        **{name: spread[name] == expected[name] for name in expected},
    }
    found["two workers against one"] = round(
        found["seconds"]["encode, one worker"] / found["seconds"]["encode, two workers"], 2
    )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps({key: value for key, value in found.items() if key != "environment"}, indent=2))
    shutil.rmtree(folder)


def part_of(collection: Collection, documents: int | None, queries: int | None) -> Collection:
    """The first documents, those that are judged for the first queries among them, and these queries."""
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
