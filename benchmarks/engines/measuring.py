"""Time and memory of one engine in its own process."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

WARM = 5  # queries before the clock starts
REPEATS, ENOUGH = 3, 60.0  # of all queries in one call; no more repeats after this many seconds

Answer = Sequence[int]


def bytes_in(folder: Path) -> int:
    """Total size of the files of an index."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def memory_watched(into: dict[str, Any]) -> Iterator[None]:
    """Record peak resident memory, with and without mapped files."""
    highest, done = _status("RssAnon"), threading.Event()
    start = _status("VmRSS")

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.02):
            highest = max(highest, _status("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    own = round(max(highest, _status("RssAnon")))
    into |= {"mb_before": round(start), "peak_mb": round(_status("VmHWM")), "peak_own_mb": own}


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


def timed(one: Callable[[int], Answer], every: Callable[[], Sequence[Answer]], queries: int) -> dict[str, Any]:
    """Answer queries one at a time, then all in one call; return the results and the times."""
    for n in range(min(WARM, queries)):
        one(n)
    found, milliseconds, seconds = [], [], list[float]()
    for n in range(queries):
        started = time.perf_counter()
        answer = one(n)
        milliseconds.append(1e3 * (time.perf_counter() - started))
        found.append([int(place) for place in answer])
    while len(seconds) < REPEATS and sum(seconds) < ENOUGH:
        started = time.perf_counter()
        every()
        seconds.append(time.perf_counter() - started)
    median, tail = np.percentile(milliseconds, [50, 95])
    return {
        "found": found,
        "milliseconds": round(float(median), 3),
        "milliseconds_95": round(float(tail), 3),
        "queries_per_second": round(queries / float(np.median(seconds)), 2),
        "queries_per_second_spread": [round(queries / value, 2) for value in (max(seconds), min(seconds))],
    }
