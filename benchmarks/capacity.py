"""A capacity model fitted to our measurements, and tested on a size predicted before it was measured.

It is fitted to indexes of 10,000, 30,000 and 100,000 documents; then a larger one is predicted, built and searched.
Writes ``results/capacity.json``: the model, the trial, plans for 10 million to a billion documents,
and a simulation of scattered queries that draws from the latencies just measured.
"""

import argparse
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.index.snapshot import Snapshot
from chamfer.reproduce.environment import environment
from chamfer.retrieve.centroids import Centroids
from chamfer.retrieve.exhaustive import best
from chamfer.retrieve.stages import depth_of
from chamfer.support.files import write_json
from growth import ROOT, phase
from synthetic import query_like

RESULT = ROOT / "benchmarks" / "results" / "capacity.json"
FITTED = (10_000, 30_000, 100_000)
PREDICTED = 300_000
QUERIES = 600
PLANNED = (10**7, 10**8, 10**9)


class Node(NamedTuple):
    """The machine to plan with, and the load on the cluster."""

    cores: int = 16
    memory_gigabytes: float = 64
    disk_gigabytes: float = 2000
    queries_per_second: float = 100
    milliseconds: float = 60
    """Time limit of a shard per query."""
    busy: float = 0.5
    """Fraction of the cores that queries may use."""


class Law(NamedTuple):
    """A quantity that grows as ``factor * documents ** power``."""

    factor: float
    power: float

    @classmethod
    def through(cls, sizes: npt.ArrayLike, values: npt.ArrayLike) -> "Law":
        """Fit by least squares in logarithms."""
        power, factor = np.polyfit(np.log(sizes), np.log(values), 1)
        return cls(float(np.exp(factor)), float(power))

    def at(self, documents: float) -> float:
        """The value for a number of documents."""
        return float(self.factor * documents**self.power)


def main() -> None:
    """Fit, predict, measure, plan, simulate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=PREDICTED)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "capacity", help="folder for the index")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    measured_on = environment()
    points = [measured(arguments.folder, size, measured_on["cores"])[0] for size in FITTED]
    laws = {name: Law.through(FITTED, [point[name] for point in points]) for name in points[0]}
    predicted = {name: law.at(arguments.size) for name, law in laws.items()}  # before anything of that size exists
    found, latencies = measured(arguments.folder, arguments.size, measured_on["cores"])
    write_json(
        arguments.out,
        {
            "environment": measured_on,
            "fitted_to": dict(zip(map(str, FITTED), points, strict=True)),
            "laws": {name: law._asdict() for name, law in laws.items()},
            "trial": {"documents": arguments.size, "predicted": predicted, "measured": found},
            "node": Node()._asdict(),
            "plans": [plan(documents, laws, Node(), measured_on["cores"]) for documents in PLANNED],
            "latencies": {"documents": arguments.size, "milliseconds": np.round(latencies, 2).tolist()},
            "simulation": simulate(latencies),
        },
    )


def measured(parent: Path, size: int, cores: int) -> tuple[dict[str, float], npt.NDArray[np.float64]]:
    """Measure core milliseconds, bytes on disk, server memory, and the latency of single queries."""
    folder = parent / str(size)
    shutil.rmtree(folder, ignore_errors=True)
    built = phase("build", size, folder)
    latencies = times(folder)
    served = phase("serve", size, folder)
    shutil.rmtree(folder)
    found = {
        "core_milliseconds_to_build": cores * built["milliseconds_per_document"] * size,
        "core_milliseconds_per_query": cores * served["milliseconds"],
        "bytes_on_disk": built["bytes"],
        "megabytes_served": served["peak_megabytes"],
    }
    return found, latencies


def times(folder: Path) -> npt.NDArray[np.float64]:
    """Latency in milliseconds of many queries, one at a time."""
    index = Snapshot.open(folder)
    stage = Centroids(index)
    found = []
    for number in range(QUERIES):
        queries = query_like(index, number)
        started = time.perf_counter()
        (candidates,) = stage.find(queries, depth_of("centroids"), None)
        best(index, queries, 10, [candidates.places])
        index.relieve()
        found.append(1e3 * (time.perf_counter() - started))
    return np.array(found[5:])


def plan(documents: int, laws: dict[str, Law], node: Node, cores: int) -> dict[str, Any]:
    """Plan shards as large as the time limit allows, and enough nodes for disk, memory and queries.

    A query is work for every shard. Shards answer with all cores of the machine that was measured, and a node has
    several of these, so that time follows from work.
    """
    query = laws["core_milliseconds_per_query"]
    largest = (node.milliseconds * cores / query.factor) ** (1 / query.power)
    shards = max(1, int(np.ceil(documents / largest)))
    each = documents / shards
    busy = node.queries_per_second * shards * query.at(each) / 1000 / node.busy
    needs = {
        "disk": shards * laws["bytes_on_disk"].at(each) / 1e9 / node.disk_gigabytes,
        "memory": shards * laws["megabytes_served"].at(each) / 1e3 / node.memory_gigabytes,
        "cores": busy / node.cores,
    }
    return {
        "documents": documents,
        "shards": shards,
        "documents_in_a_shard": round(each),
        "shard_milliseconds": query.at(each) / cores,
        "terabytes": shards * laws["bytes_on_disk"].at(each) / 1e12,
        "core_hours_to_build": shards * laws["core_milliseconds_to_build"].at(each) / 3.6e6,
        "nodes_for": {name: round(value, 2) for name, value in needs.items()},
        "nodes": max(1, int(np.ceil(max(needs.values())))),
    }


def simulate(latencies: npt.NDArray[np.float64], *, draws: int = 100_000) -> list[dict[str, Any]]:
    """Simulate the time until the slowest shard answers, with and without hedged requests.

    A request is one of the latencies measured; one in a hundred is ten times as long, for a machine that is busy with
    something else. With two replicas a second request is sent to the other replica when the first takes longer than
    95 of 100 do, and the earlier answer counts.
    """
    generator = np.random.default_rng(0)
    patience = float(np.percentile(latencies, 95))

    def drawn(shards: int) -> npt.NDArray[np.float64]:
        straggles = np.where(generator.random((draws, shards)) < 0.01, 10.0, 1.0)
        return np.asarray(generator.choice(latencies, (draws, shards)) * straggles)

    found = []
    for shards in (1, 2, 4, 8, 16, 32, 64, 128):
        alone = drawn(shards)
        hedged = np.where(alone > patience, np.minimum(alone, patience + drawn(shards)), alone)
        record: dict[str, Any] = {"shards": shards, "second_requests": float((alone > patience).mean())}
        for name, each in (("one replica", alone), ("hedged", hedged)):
            slowest = each.max(axis=1)
            record[name] = {f"p{p}": round(float(np.percentile(slowest, p)), 1) for p in (50, 95, 99)}
        found.append(record)
    return found


if __name__ == "__main__":
    main()
