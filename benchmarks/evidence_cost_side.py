"""One side of evidence_cost.py: opens an index, searches it, prints time and memory. Runs in older checkouts."""

import argparse
import json
import time
from pathlib import Path
from statistics import median

from chamfer import Searcher
from chamfer.reproduce.environment import environment

WARM_UP = 20


def main() -> None:
    """Answer every query, one by one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the index")
    parser.add_argument("queries", type=Path, help="query texts, as JSON")
    parser.add_argument("--weights", required=True)
    arguments = parser.parse_args()
    queries: list[str] = json.loads(arguments.queries.read_text())
    searcher = Searcher.open(arguments.folder, weights=arguments.weights)
    for query in queries[:WARM_UP]:
        searcher.search(query)
    times = []
    for query in queries:
        began = time.perf_counter()
        searcher.search(query)
        times.append(1e3 * (time.perf_counter() - began))
    print(json.dumps({"commit": environment()["commit"], "milliseconds": median(times), "memory_mb": memory_mb()}))


def memory_mb() -> float:
    """Resident memory of this process, the pages of the index that it has read among it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) / 1024


if __name__ == "__main__":
    main()
