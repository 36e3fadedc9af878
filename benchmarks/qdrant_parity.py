"""Rankings and latency of an index in Qdrant compared with the library, in both forms, on scifact.

Two targets: the embedded engine (``qdrant-edge-py``) over the whole collection, and the client's memory mode,
which is plain Python and gets a subset. A target's ranking is compared with the library's for the same query, and for
that query rounded to 16 bits, which is what the engine computes with. Writes ``results/qdrant.json``.
"""

import argparse
import shutil
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from qdrant_client import QdrantClient
from threadpoolctl import threadpool_limits

from chamfer import Encoder, Searcher, TokenBatch, TokenWeights
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import Collection, load_collection
from chamfer.data.documents import Document
from chamfer.index.encoded import build_encoded
from chamfer.index.encoder import described
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.integrations.qdrant import QdrantSearcher, push
from chamfer.integrations.qdrant.edge import EdgeClient
from chamfer.integrations.qdrant.points import Client
from chamfer.kernels.form import Form
from chamfer.reproduce.environment import environment
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.search.hits import Hits
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import encoder_for

RESULTS = Path(__file__).parent / "results" / "qdrant.json"
FORMS: tuple[Form, ...] = ("l2", "cosine")
K = 10
# Scores closer than this count as equal: the engine rounds queries to 16 bits, about four digits of a score.
TIED = 5e-5


def main() -> None:
    """Build, push, search, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="collection folder")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--documents", type=int, help="documents for the engine (default: all)")
    parser.add_argument("--memory-documents", type=int, default=500, help="documents for memory mode; 0 skips it")
    parser.add_argument(
        "--work", type=Path, default=Path("/dev/shm/chamfer-qdrant"), help="working folder; removed afterwards"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    measured_on = environment() | {name: version(name) for name in ("qdrant-client", "qdrant-edge-py")}
    collection = load_collection(arguments.folder, allow_empty=True)
    encoder = encoder_for(arguments.folder)
    judged = collection.judged_queries("test")
    asked = {identifier: judged[identifier] for identifier in list(judged)[: arguments.queries]}
    tokens = encoder.encode_queries(list(asked.values()))  # in float32, as in a search; the cache stores float16
    targets: dict[str, tuple[int | None, Callable[[], Client]]] = {
        "edge": (arguments.documents, lambda: EdgeClient(arguments.work / "edge")),
        "memory": (arguments.memory_documents, lambda: QdrantClient(":memory:")),
    }
    record: dict[str, Any] = {"environment": measured_on, "collection": collection.name, "queries": len(asked)}
    for name, (size, client) in targets.items():
        if size == 0:
            continue
        try:
            index = build(arguments.work / "index", collection, encoder, size)
            # Memory mode multiplies small matrices, for which BLAS threads cost more than they gain.
            with threadpool_limits(1 if name == "memory" else None):
                record[name] = measure(client(), index, encoder, list(asked.values()), tokens)
        finally:
            shutil.rmtree(arguments.work, ignore_errors=True)
        write_json(arguments.out, record)


def build(folder: Path, collection: Collection, encoder: Encoder, size: int | None) -> Snapshot:
    """Build an index of the first documents from cached vectors."""
    documents = encode_cached(default_cache(), encoder, list(collection.documents), list(collection.documents.values()))
    ids = documents.ids[:size]
    settings = Settings(encoder.dimensions, len(encoder.vocabulary), encoder=described(encoder))
    given = [Document(one, collection.documents[one]) for one in ids]
    build_encoded(folder, given, documents.tokens[: len(ids)], settings)
    return Snapshot.open(folder)


def measure(
    client: Client, index: Snapshot, encoder: Encoder, texts: Sequence[str], tokens: TokenBatch
) -> dict[str, Any]:
    """Push twice, then search in each form with each first stage."""
    took = []
    for _ in range(2):
        started = time.perf_counter()
        push(client, "parity", index)
        took.append(round(time.perf_counter() - started, 1))
    weights = TokenWeights.soft_idf(index.frequencies, encoder.vocabulary)
    points = []
    for form in FORMS:
        queries = Queries(texts, tokens, weights.of(tokens), form)
        own = Searcher(index, encoder, weights=weights, form=form)
        theirs = QdrantSearcher(client, "parity", encoder, weights, form=form)
        for stage in ("exhaustive", "bm25"):
            found, latency = timed(partial(theirs.rank, k=K, first_stage=stage), queries)
            expected, own_latency = timed(partial(own.rank, k=K, first_stage=stage), queries)
            of_rounded = own.rank(rounded(queries), K, first_stage=stage)
            points.append(
                {
                    "form": form,
                    "first_stage": stage,
                    **compared(index, found, expected, queries),
                    "of_rounded_queries": compared(index, found, of_rounded, queries),
                    "milliseconds": latency,
                    "library_milliseconds": own_latency,
                }
            )
            print(points[-1], flush=True)
    return {
        "documents": len(index),
        "tokens": int(sum(segment.offsets[-1] for segment in index.segments)),
        "seconds_to_push": took[0],
        "seconds_to_push_again": took[1],
        "rankings": points,
    }


def compared(
    index: Snapshot, found: Sequence[Hits], expected: Sequence[Candidates], queries: Queries
) -> dict[str, Any]:
    """Number of identical rankings, of rankings identical up to ties, and the largest difference of scores."""
    same = tied = 0
    apart = 0.0
    for place, (hits, candidates) in enumerate(zip(found, expected, strict=True)):
        ids, scores = index.ids(candidates.places), queries.scale_of(place).scores(candidates.scores)
        theirs = np.array([hit.score for hit in hits])
        same += [hit.id for hit in hits] == ids
        score_of = dict(zip(ids, scores.tolist(), strict=True))
        # A document that only the engine found must score like the last one.
        ours = np.array([score_of.get(hit.id, scores[-1]) for hit in hits])
        tied += len(hits) == len(ids) and bool(np.allclose(ours, scores, rtol=0, atol=TIED))
        apart = max(apart, float(np.abs(theirs - scores).max()) if len(theirs) == len(scores) else np.inf)
    return {"same": same, "same_but_for_ties": tied, "scores_apart": float(f"{apart:.2g}")}


def rounded(queries: Queries) -> Queries:
    """The query as the engine rounds it: to 16 bits, for ``cosine`` after folding the weights in."""
    vectors, weights = queries.tokens.vectors, queries.weights
    if queries.form == "cosine":
        largest = np.repeat(np.maximum.reduceat(weights, queries.tokens.offsets[:-1]), queries.tokens.lengths)
        vectors, weights = vectors * (weights / largest)[:, None], largest
    half = vectors.astype(np.float16).astype(np.float32)
    tokens = TokenBatch(half, queries.tokens.token_ids, queries.tokens.offsets)
    return queries._replace(tokens=tokens, weights=weights)


def each(queries: Queries) -> list[Queries]:
    """The queries one by one."""
    return [
        Queries([text], queries.tokens[place], queries.weights_of(place), queries.form)
        for place, text in enumerate(queries.texts)
    ]


def timed(answer: Callable[[Queries], list[Any]], queries: Queries) -> tuple[list[Any], Mapping[str, float]]:
    """Answer the queries one by one, after a warm-up."""
    answer(each(queries)[0])
    found: list[Any] = []
    times = []
    for one in each(queries):
        started = time.perf_counter()
        found += answer(one)
        times.append(1e3 * (time.perf_counter() - started))
    return found, {"median": round(statistics.median(times), 1), "95": round(float(np.percentile(times, 95)), 1)}


if __name__ == "__main__":
    main()
