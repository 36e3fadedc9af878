"""Scaling of an index: 10,000 to 1,000,000 synthetic clustered documents of 60 tokens x 128 dimensions, in int8.

Every build and every server is a process of its own, so that its peak memory is its own. Writes
``results/growth.json``.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.index.columns import CODES_FILE
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.trained import sample_size
from chamfer.index.writing import writing
from chamfer.reproduce.environment import environment
from chamfer.retrieve.centroids import Centroids
from chamfer.retrieve.exhaustive import Exhaustive, best
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import depth_of
from chamfer.support.files import write_json
from synthetic import DIMENSIONS, QUERY_TOKENS, TOKENS, WORDS, chunks, query_like, word_vectors

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "growth.json"
SIZES = (10_000, 100_000, 1_000_000)
QUERIES, COMPARED = 200, 20


def main() -> None:
    """Build and serve an index of each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "growth", help="folder for the indexes")
    parser.add_argument("--phase", choices=("build", "serve"), help="internal: runs one phase in this process")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    if arguments.phase:
        (size,) = arguments.sizes
        told = build(arguments.folder, size) if arguments.phase == "build" else serve(arguments.folder, size)
        print(json.dumps(told))
        return
    measured_on, points = environment(), []
    for size in arguments.sizes:
        folder = arguments.folder / str(size)
        shutil.rmtree(folder, ignore_errors=True)
        point = {"documents": size, "build": phase("build", size, folder), "serve": phase("serve", size, folder)}
        shutil.rmtree(folder)
        print(json.dumps(point, indent=1), flush=True)
        points.append(point)
    shape = {"tokens": TOKENS, "dimensions": DIMENSIONS, "query_tokens": QUERY_TOKENS, "precision": "int8"}
    write_json(arguments.out, {"environment": measured_on, **shape, "points": points})


def phase(name: str, size: int, folder: Path) -> dict[str, Any]:
    """Run one phase in its own process."""
    command = [sys.executable, __file__, "--phase", name, "--sizes", str(size), "--folder", str(folder)]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return told


def build(folder: Path, size: int) -> dict[str, Any]:
    """Add documents in chunks and prepare the first stage; generating vectors is not timed."""
    settings = Settings(DIMENSIONS, WORDS, precision="int8")
    words = word_vectors()
    seconds = 0.0
    with writing(folder, settings) as writer:
        tokens = size * TOKENS
        _, sample = next(chunks(words, sample_size(tokens) // TOKENS, at_a_time=10**9, seed=1))
        started = time.perf_counter()
        writer.train(sample, tokens=tokens)
        trained = time.perf_counter() - started
        for first, batch in chunks(words, size):
            documents = [
                Document(f"{first + place:08d}", " ".join(map(str, batch[place].token_ids.tolist())))
                for place in range(len(batch))
            ]
            started = time.perf_counter()
            writer.add(documents, batch)
            seconds += time.perf_counter() - started
        centroids = len(writer.trained.clusters) if writer.trained else 0
    started = time.perf_counter()
    index = Snapshot.open(folder)
    Centroids(index)
    prepared = time.perf_counter() - started
    whole = trained + seconds + prepared
    return {
        "seconds": round(whole, 2),
        "seconds_to_train": round(trained, 2),
        "milliseconds_per_document": round(1e3 * whole / size, 4),
        "centroids": centroids,
        "segments": len(index.segments),
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        **memory(),
    }


def serve(folder: Path, size: int) -> dict[str, Any]:
    """Answer queries one at a time like ``Searcher.rank``, and compare a few with exhaustive search."""
    before = memory()["peak_megabytes"]
    index = Snapshot.open(folder)
    stage = Centroids(index)
    asked = [query_like(index, number) for number in range(QUERIES)]
    index.relieve()

    def answer(queries: Queries) -> npt.NDArray[np.int64]:
        (found,) = stage.find(queries, depth_of("centroids"), None)
        (answer,) = best(index, queries, 10, [found.places])
        index.relieve()
        return answer.places

    for queries in asked[:5]:
        answer(queries)
    times = []
    for queries in asked:
        started = time.perf_counter()
        answer(queries)
        times.append(1e3 * (time.perf_counter() - started))
    served = memory()
    exhaustive, exact, same = Exhaustive(index), [], []
    for queries in asked[:COMPARED]:
        started = time.perf_counter()
        (truth,) = exhaustive.find(queries, 10, None)
        exact.append(1e3 * (time.perf_counter() - started))
        same.append(len(set(truth.places) & set(answer(queries))) / 10)
    return {
        "milliseconds": round(float(np.median(times)), 2),
        "milliseconds_95": round(float(np.percentile(times, 95)), 2),
        "exhaustive_milliseconds": round(float(np.median(exact)), 2),
        "overlap": round(float(np.mean(same)), 4),
        "code_megabytes": round(sum(segment.columns[CODES_FILE].nbytes for segment in index.segments) / 1e6, 1),
        "interpreter_megabytes": before,
        **served,
    }


def memory() -> dict[str, float]:
    """Memory of this process: peak, private, and mapped file pages."""
    told = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    names = {"VmHWM": "peak_megabytes", "RssAnon": "own_megabytes", "RssFile": "mapped_megabytes"}
    return {name: round(int(told[key].split()[0]) / 1e3, 1) for key, name in names.items()}


if __name__ == "__main__":
    main()
