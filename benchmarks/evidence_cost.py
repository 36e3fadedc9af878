"""What the mix costs: time of a search and memory, against softened IDF here and in an older checkout; and learning.

The older checkout needs a ``.venv`` of its own, as ``make install`` makes it. Writes ``results/evidence-cost.json``.
"""

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from campaign import RESULTS
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import load_collection
from chamfer.index.snapshot import Snapshot
from chamfer.learn.fit import fit_weights
from chamfer.learn.on_collection import starting_weights
from chamfer.reproduce.environment import environment
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import encoder_for
from first_stages import build, drawn_queries, sample
from judged_splits import open_collection, read_splits

RESULT = RESULTS / "evidence-cost.json"
SIDE = Path(__file__).parent / "evidence_cost_side.py"
INDEXES = ("scifact", "acl-titles")
LEARNT_FROM = "scifact"


def main() -> None:
    """Measure side after side, round after round, so that a busy minute falls on all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="the older checkout")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    older = arguments.before / ".venv" / "bin" / "python"
    sides = {
        "before, idf-soft": (older, "idf-soft"),
        "idf-soft": (Path(sys.executable), "idf-soft"),
        "mix": (Path(sys.executable), "mix"),
    }
    measured = {
        name: measure_index(arguments.data / name, arguments.cache, sides, arguments.rounds) for name in INDEXES
    }
    learning = measure_learning(arguments.data / LEARNT_FROM, arguments.cache)
    told = {"environment": environment(), "rounds": arguments.rounds, "indexes": measured, "learning": learning}
    write_json(RESULT, told)


def measure_index(folder: Path, cache: Path, sides: dict[str, tuple[Path, str]], rounds: int) -> dict[str, Any]:
    """Milliseconds and memory of every side on one collection; of a large one, on a sample of its documents."""
    encoder, collection = encoder_for(folder), load_collection(folder, allow_empty=True)
    documents = encode_cached(cache, encoder, list(collection.documents), list(collection.documents.values()))
    asked = drawn_queries(collection)
    made = cache / f"benchmark-evidence-{collection.name}"
    shutil.rmtree(made, ignore_errors=True)
    build(made / "index", collection, documents, sample(collection, documents, asked), encoder)
    (made / "queries.json").write_text(json.dumps(list(asked.values())))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
    try:
        for name in sides:  # each with derived files of its own
            shutil.copytree(made / "index", made / name)
        size = len(Snapshot.open(made / "index"))
        for number in range(rounds):
            for name, (python, weights) in sorted(sides.items(), reverse=number % 2 == 0):
                command = [*map(str, (python, SIDE, made / name, made / "queries.json")), "--weights", weights]
                told = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
                found[name].append(json.loads(told))
            print({name: one[-1] for name, one in found.items()}, flush=True)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return {
        "documents": size,
        "queries": len(asked),
        "sides": {
            name: {
                "commit": several[0]["commit"],
                "milliseconds": round(median(one["milliseconds"] for one in several), 3),
                "memory_mb": round(median(one["memory_mb"] for one in several), 1),
                "rounds": several,
            }
            for name, several in found.items()
        },
    }


def measure_learning(folder: Path, cache: Path) -> dict[str, Any]:
    """Seconds that ``auto`` takes with its report, and the memory that it allocates on top of what is read."""
    setup, group_by = open_collection(folder, cache)
    splits, _ = read_splits(setup, group_by, 0)
    queries = [*splits.train, *splits.validation]
    start = starting_weights(setup, learnt_from=len(queries))
    allocated = Allocated()
    began = time.perf_counter()
    with allocated:
        fit_weights(queries, start, group_by=group_by)
    return {
        "dataset": setup.collection.name,
        "queries": len(queries),
        "seconds": round(time.perf_counter() - began, 1),
        "allocated_mb": {"before": round(allocated.first), "highest": round(allocated.highest)},
    }


class Allocated:
    """The highest amount of memory that this process has allocated, without mapped files, seen ten times a second."""

    def __init__(self) -> None:
        self.first = self.highest = self._now()
        self._stopped = threading.Event()
        self._watching = threading.Thread(target=self._watch)

    def __enter__(self) -> "Allocated":
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._watching.join()

    def _watch(self) -> None:
        while not self._stopped.wait(0.1):
            self.highest = max(self.highest, self._now())

    @staticmethod
    def _now() -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("RssAnon:")).split()[1]) / 1024


if __name__ == "__main__":
    main()
