"""The native kernel beside its peers: the top 10 of 1,000 documents, on the same vectors, in one run.

Writes ``results/kernel.json``. Every system gets the documents in its fastest format, converted before the clock
starts; the conversion of a query is timed.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chamfer import Encoder, TokenBatch, TokenWeights
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import Collection, load_collection
from chamfer.kernels import native
from chamfer.kernels.documents import CodedDocuments
from chamfer.reproduce.environment import environment
from chamfer.retrieve.bm25 import BM25
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from chamfer.tokens.batch import offsets_of
from chamfer.weights.counting import count_frequencies
from corpora import encoder_for
from kernel_systems import DOCUMENTS, SYSTEMS, Floats, K, Places, Work

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

RESULT = Path(__file__).parent / "results" / "kernel.json"
PEERS = ("numkong", "maxsim-cpu", "torch")
SECONDS = 1.0  # per system and shape, with at least 3 repeats


def main() -> None:
    """Measure with one thread and with all threads, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections, for real vectors")
    parser.add_argument("--threads", type=int, help="measure in this process with this many threads and print JSON")
    arguments = parser.parse_args()
    if arguments.threads is not None:
        print(json.dumps(measure(arguments.data, arguments.threads)))
        return
    cores = sorted(os.sched_getaffinity(0))
    measured = environment() | {peer: version(peer) for peer in PEERS} | {"instructions": native.path()}
    shapes = [shape for threads in sorted({1, len(cores)}) for shape in _in_a_process(arguments.data, threads, cores)]
    write_json(
        RESULT,
        {"environment": measured, "peak_gop": peak(), "shapes": shapes, "memory": memory(arguments.data)},
    )


def _in_a_process(data: Path, threads: int, cores: Sequence[int]) -> list[dict[str, Any]]:
    limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    command = [sys.executable, __file__, "--data", str(data), "--threads", str(threads)]
    done = subprocess.run(
        ["taskset", "-c", ",".join(map(str, cores[:threads])), *command],
        env=os.environ | limits,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    shapes: list[dict[str, Any]] = json.loads(done.stdout)
    return shapes


def measure(data: Path, threads: int) -> list[dict[str, Any]]:
    """Time every system on every shape, and compare its results with float64."""
    results = []
    for work in [*random_work(), *real_work(data)]:
        exact = [definition(work, n) for n in range(len(work.queries))]
        systems = {}
        for name in SYSTEMS:
            systems[name] = _apart(work, name, threads, exact)
            print(f"{threads} threads, {work.name}, {name}: {systems[name]}", file=sys.stderr)
        results.append(
            {
                "shape": work.name,
                "threads": threads,
                "queries": len(work.queries),
                "operations": work.operations,
                "systems": systems,
                **effort(work),
            }
        )
    return results


def _apart(work: Work, name: str, threads: int, exact: list[dict[str, list[int]]]) -> dict[str, Any]:
    """Measure one system in its own process, because some peers crash on some shapes."""
    context = multiprocessing.get_context("spawn")  # a fork would inherit thread pools that no longer run
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measure_one, args=(work, name, threads, exact, sender))
    child.start()
    child.join()
    if child.exitcode is not None and child.exitcode < 0:
        return {"crashed": f"signal {-child.exitcode}"}
    found: dict[str, Any] = receiver.recv()
    return found


def _measure_one(
    work: Work, name: str, threads: int, exact: list[dict[str, list[int]]], sender: "Connection[Any, Any]"
) -> None:
    answer = SYSTEMS[name](work, threads)
    form = "l2" if "l2" in name else "cosine"
    shared = [len(set(answer(n)) & set(exact[n][form])) / K for n in range(len(work.queries))]
    sender.send(timed(answer, len(work.queries)) | {"same_best_10": float(np.mean(shared))})


def random_work() -> Iterator[Work]:
    """Random unit vectors: the hardest case, with scores close together and nothing to prune."""
    for name, queries, tokens, dimensions in (
        ("32 x 128", 1, 32, 128),
        ("32 x 96", 1, 32, 96),
        ("12 x 384", 1, 12, 384),
        ("256 x 128", 1, 256, 128),
        ("16 queries of 32 x 128", 16, 32, 128),
    ):
        generator = np.random.default_rng(0)
        lengths = generator.integers(60, 301, size=DOCUMENTS)
        vectors = _unit(generator, int(lengths.sum()), dimensions).astype(np.float16)
        documents = TokenBatch(vectors, np.zeros(len(vectors), np.int32), offsets_of(lengths))
        yield Work(
            name,
            [_unit(generator, tokens, dimensions) for _ in range(queries)],
            [np.ones(tokens, np.float32)] * queries,
            documents,
            [np.arange(DOCUMENTS)] * queries,
        )


def real_work(data: Path, count: int = 4) -> Iterator[Work]:
    """MiniLM vectors of scifact, BM25's top 1,000 candidates, with uniform weights or softened IDF."""
    collection, encoder, corpus = scifact(data)
    some = dict(list(collection.judged_queries("test").items())[:count])
    queries = encoder.encode_queries(list(some.values()))
    candidates = [
        np.array([corpus.place[document] for document in ranking.document_ids])
        for ranking in BM25(collection.documents).search(some, k=DOCUMENTS)
    ]
    places = np.unique(np.concatenate(candidates))
    documents, candidates = corpus.tokens.take(places), [np.searchsorted(places, chosen) for chosen in candidates]
    frequencies = count_frequencies(encoder, list(collection.documents.values()))
    for name, weights in (
        ("scifact, uniform", TokenWeights.uniform(encoder.vocabulary)),
        ("scifact, softened IDF", TokenWeights.soft_idf(frequencies, encoder.vocabulary)),
    ):
        vectors = [queries[n].vectors.astype(np.float32) for n in range(count)]
        yield Work(name, vectors, [weights.of(queries[n]) for n in range(count)], documents, candidates)


def scifact(data: Path) -> tuple[Collection, Encoder, EncodedCorpus]:
    """The collection, its encoder, and its encoded documents on disk."""
    collection, encoder = load_collection(data / "scifact"), encoder_for(data / "scifact")
    texts = collection.documents
    return collection, encoder, encode_cached(default_cache(), encoder, list(texts), list(texts.values()))


def _unit(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    vectors = generator.standard_normal((count, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def definition(work: Work, n: int) -> dict[str, list[int]]:
    """The top documents of each form, computed in float64 from the 16-bit vectors."""
    places, query = work.candidates[n], work.queries[n].astype(np.float64)
    tokens = work.documents.take(places)
    vectors = tokens.vectors.astype(np.float64)
    products = vectors @ query.T
    squares = np.square(vectors).sum(axis=1)[:, None] - 2 * products + np.square(query).sum(axis=1)
    found = {}
    for form, closeness in (("cosine", products), ("l2", -np.sqrt(np.maximum(squares, 0)))):
        scores = np.maximum.reduceat(closeness, tokens.offsets[:-1]) @ work.weights[n].astype(np.float64)
        found[form] = sorted(places[np.argsort(-scores, kind="stable")[:K]].tolist())
    return found


def timed(answer: Callable[[int], Places], queries: int) -> dict[str, float]:
    """Milliseconds per query."""
    milliseconds: list[float] = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until or len(milliseconds) < 3:
        began = time.perf_counter()
        for n in range(queries):
            answer(n)
        milliseconds.append((time.perf_counter() - began) * 1e3 / queries)
    fastest, median, slowest = np.quantile(milliseconds, [0, 0.5, 1]).round(3).tolist()
    return {"median_ms": median, "fastest_ms": fastest, "slowest_ms": slowest, "repeats": len(milliseconds)}


def effort(work: Work) -> dict[str, float]:
    """Mean number of documents rescored in 16 bits, and mean fraction of products that screening saved."""
    documents = CodedDocuments.of(work.documents)
    read, saved = [], []
    for n in range(len(work.queries)):
        found = native.best(work.queries[n], work.weights[n], documents.handle, work.candidates[n], K, "cosine", 1)
        read.append(found[2])
        saved.append(1 - found[3] / found[4])
    return {"read": float(np.mean(read)), "saved": float(np.mean(saved))}


def peak() -> float | None:
    """Peak 8-bit operations of one core in billions per second; None without AVX-512 VNNI."""
    if native.path() != "avx512":
        return None
    source, program = Path(__file__).with_name("peak.cpp"), Path(__file__).parents[1] / "build" / "peak"
    program.parent.mkdir(exist_ok=True)
    subprocess.run(["g++", "-O2", "-mavx512f", "-mavx512vnni", str(source), "-o", str(program)], check=True)
    return float(subprocess.run([program], capture_output=True, text=True, check=True).stdout)


def memory(data: Path) -> dict[str, float]:
    """Memory in megabytes of a process that ranks 1,000 scifact documents from disk, and of a bare interpreter.

    Own memory, the highest of looks in between, and with what is mapped of files, which the system takes back when it
    needs room.
    """
    corpus = scifact(data)[2]
    _ = corpus.coded  # made now if it does not exist
    program = f"""
from pathlib import Path
def own():
    lines = dict(line.split(':', 1) for line in Path('/proc/self/status').read_text().splitlines())
    return [int(lines[name].split()[0]) / 1024 for name in ('RssAnon', 'VmHWM')]
start = own()
import threading
import numpy as np
from chamfer.kernels import dispatch
from chamfer.cache.corpus import EncodedCorpus
from chamfer.tokens.batch import TokenBatch
corpus = EncodedCorpus.open(Path({str(corpus.folder)!r}))
query = TokenBatch.pack([np.asarray(corpus.tokens.vectors[:32], np.float32)], [np.arange(32)])
places = np.random.default_rng(0).permutation(len(corpus))[:1000]
highest, done = 0.0, threading.Event()
def watch():
    global highest
    while not done.is_set():
        highest = max(highest, own()[0])
watcher = threading.Thread(target=watch)
watcher.start()
for _ in range(20):
    dispatch.best(query, np.ones(32, np.float32), corpus, k=10, candidates=[places])
done.set()
watcher.join()
print(*start, max(highest, own()[0]), own()[1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = ("interpreter_own", "interpreter_resident", "ranking_own", "ranking_resident")
    return {name: round(float(value), 1) for name, value in zip(names, done.stdout.split(), strict=True)}


if __name__ == "__main__":
    main()
