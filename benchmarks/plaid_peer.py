"""fast-plaid's half of ``plaid.py``, run in a separate environment, and the measuring code for both halves.

Does not import chamfer, and imports torch and fast-plaid only where used, because our half runs without them.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

K = 10
THREADS = 2
WARM = 5  # queries before the clock starts
REPEATS, ENOUGH = 3, 60.0  # of all queries in one call; no more repeats after this many seconds


class Material(NamedTuple):
    """Memory-mapped 16-bit token vectors, and queries."""

    vectors: npt.NDArray[np.float16]
    offsets: npt.NDArray[np.int64]
    queries: list[npt.NDArray[np.float32]]
    weights: npt.NDArray[np.float32]


def read_material(folder: Path, weighting: str = "uniform") -> Material:
    """Read the input that ``plaid.py`` wrote."""
    lengths, query_lengths = np.load(folder / "lengths.npy"), np.load(folder / "query_lengths.npy")
    queries = np.split(np.load(folder / "query_vectors.npy").astype(np.float32), np.cumsum(query_lengths)[:-1])
    return Material(
        # Never written to, but torch warns about read-only arrays.
        np.load(folder / "vectors.npy", mmap_mode="c"),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        queries,
        np.load(folder / f"weights-{weighting}.npy"),
    )


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


def timed(
    one: Callable[[int], Sequence[int]], every: Callable[[], Sequence[Sequence[int]]], queries: int
) -> dict[str, Any]:
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


def build(material: Material, index: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Build an index on disk; the list of document views is made before the clock starts."""
    import torch
    from fast_plaid import search  # type: ignore[import-not-found]

    bounds = zip(material.offsets, material.offsets[1:], strict=False)
    documents = [torch.from_numpy(material.vectors[start:stop]) for start, stop in bounds]
    found: dict[str, Any] = {}
    with memory_watched(found):
        started = time.perf_counter()
        search.FastPlaid(index=str(index), device="cpu").create(documents_embeddings=documents, **settings)
        found["seconds"] = round(time.perf_counter() - started, 2)
    centroids = np.load(index / "centroids.npy", mmap_mode="r")
    return found | {"bytes": bytes_in(index), "centroids": len(centroids)}


def search(material: Material, index: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Search an index; weights are folded into the query, which is exact for dot products."""
    found: dict[str, Any] = {}
    with memory_watched(found):
        opened, queries = _opened(material, index)

        def answers(asked: list[Any]) -> list[list[int]]:
            given = opened.search(asked, top_k=K, show_progress=False, **settings)
            return [[place for place, _ in answer] for answer in given]

        found |= timed(lambda n: answers([queries[n]])[0], lambda: answers(queries), len(queries))
    return found


def tune(material: Material, index: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Try search settings: results and time per query, with all queries in one call."""
    opened, queries = _opened(material, index)
    tried = []
    for choice in settings["grid"]:
        opened.search(queries[:WARM], top_k=K, show_progress=False, **choice)
        started = time.perf_counter()
        given = opened.search(queries, top_k=K, show_progress=False, **choice)
        each = 1e3 * (time.perf_counter() - started) / len(queries)
        found = [[int(place) for place, _ in answer] for answer in given]
        tried.append({"settings": choice, "found": found, "milliseconds": round(each, 3)})
    return {"tried": tried}


def _opened(material: Material, index: Path) -> tuple[Any, list[Any]]:
    import torch
    from fast_plaid import search

    folded = np.split(material.weights[:, None], np.cumsum([len(query) for query in material.queries])[:-1])
    queries = [torch.from_numpy(query * weights) for query, weights in zip(material.queries, folded, strict=True)]
    opened = search.FastPlaid(index=str(index), device="cpu")
    if opened.devices != ["cpu"] or torch.cuda.is_available():
        raise SystemExit("fast-plaid must run on the CPU here")
    return opened, queries


def main() -> None:
    """Run a request given as JSON, and write the result as JSON."""
    import torch

    torch.set_num_threads(THREADS)
    asked = json.loads(sys.argv[1])
    material = read_material(Path(asked["material"]), asked["weights"])
    work = {"build": build, "search": search, "tune": tune}[asked["do"]]
    found = work(material, Path(asked["index"]), asked["settings"])
    Path(asked["out"]).write_text(json.dumps(found | {"torch": torch.__version__}))


if __name__ == "__main__":
    main()
