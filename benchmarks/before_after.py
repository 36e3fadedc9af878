"""Ingestion and search of this checkout and of an older one, measured in turn on one machine.

The older checkout needs a ``.venv`` of its own, as ``make install`` makes it. Both sides run this very script, each
with its own ``chamfer``. Writes ``results/before-after.json``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import get_args

from chamfer import Searcher, build_index, load_collection
from chamfer.data.documents import Document
from chamfer.index.encoded import build_encoded
from chamfer.index.settings import Precision, Settings
from chamfer.index.snapshot import Snapshot
from chamfer.reproduce.environment import environment
from chamfer.retrieve.centroids import Centroids
from chamfer.retrieve.exhaustive import best
from chamfer.support.files import write_json
from synthetic import DIMENSIONS, WORDS, chunks, query_like, word_vectors

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "before-after.json"
DOCUMENTS, QUERIES, DEPTH = 5_000, 100, 500  # synthetic
TEXTS = 200  # real ones


def main() -> None:
    """Measure both checkouts round after round, so that a busy minute falls on both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, nargs="?", help="the older checkout")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "scifact")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--one", action="store_true", help="internal: measure the chamfer of this interpreter")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps({"commit": environment()["commit"], "milliseconds": measure(arguments.data)}))
        return
    if arguments.before is None:
        parser.error("which checkout is the older one?")
    interpreters = {"before": arguments.before / ".venv" / "bin" / "python", "after": Path(sys.executable)}
    commits: dict[str, str] = {}
    rounds: list[dict[str, dict[str, float]]] = []
    for number in range(arguments.rounds):
        rounds.append({})
        for side in sorted(interpreters, reverse=number % 2 == 0):  # neither is always the first
            command = [interpreters[side], __file__, "--one", "--data", arguments.data]
            told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            commits[side] = told["commit"]
            rounds[-1][side] = told["milliseconds"]
        print(json.dumps(rounds[-1]), flush=True)
    points = {}
    for name in rounds[0]["after"]:
        sides = {side: [one[side][name] for one in rounds] for side in interpreters}
        ratios = sorted(after / before for before, after in zip(sides["before"], sides["after"], strict=True))
        points[name] = {
            **{side: round(median(values), 3) for side, values in sides.items()},
            "ratio": round(median(ratios), 3),
            "ratios": [round(ratio, 3) for ratio in ratios],
        }
    told = {"environment": environment(), "commits": commits, "rounds": arguments.rounds, "milliseconds": points}
    write_json(RESULT, told)


def measure(data: Path) -> dict[str, float]:
    """Milliseconds of each piece of work, with synthetic vectors in every precision and with texts."""
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for precision in get_args(Precision):
            for work, milliseconds in on_vectors(Path(folder) / precision, precision).items():
                measured[f"{work}, {precision}"] = milliseconds
        measured.update(on_texts(Path(folder) / "texts", data))
    return measured


def on_vectors(folder: Path, precision: Precision) -> dict[str, float]:
    """Building an index, opening it for the first time and again, and searching it, without an encoder."""
    ((_, tokens),) = chunks(word_vectors(), DOCUMENTS)
    documents = [Document(f"{number:05d}", f"document {number}") for number in range(DOCUMENTS)]
    watch = Watch()
    build_encoded(folder, documents, tokens, Settings(DIMENSIONS, WORDS, precision=precision))
    built = watch.lap()
    Centroids(Snapshot.open(folder))
    prepared = watch.lap()
    index = Snapshot.open(folder)
    stage = Centroids(index)
    opened = watch.lap()
    times = []
    for number in range(QUERIES):
        queries = query_like(index, number)
        watch.lap()
        (found,) = stage.find(queries, DEPTH, None)
        best(index, queries, 10, [found.places])
        times.append(watch.lap())
    return {"build": built, "first open": prepared, "open": opened, "search": median(times)}


def on_texts(folder: Path, data: Path) -> dict[str, float]:
    """The same with MiniLM and real texts, as a user calls it."""
    collection = load_collection(data)
    texts = dict(list(collection.documents.items())[:TEXTS])
    build_index(folder.with_name("warm"), {"a": "the model is loaded here"}, progress=False)
    watch = Watch()
    build_index(folder, texts, progress=False)
    built = watch.lap()
    searcher = Searcher.open(folder)
    opened = watch.lap()
    times = []
    for query in list(collection.queries.values())[:QUERIES]:
        watch.lap()
        searcher.search(query)
        times.append(watch.lap())
    return {"build, texts": built, "open, texts": opened, "search, texts": median(times)}


class Watch:
    """Milliseconds from one lap to the next."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def lap(self) -> float:
        """Milliseconds since the last lap."""
        now = time.perf_counter()
        self._started, passed = now, 1e3 * (now - self._started)
        return passed


if __name__ == "__main__":
    main()
