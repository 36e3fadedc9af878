"""Quality against latency of every first stage on acl-titles: a random sample of 20,000 documents, or all.

Each stage is measured at several depths (candidates that are scored exactly), one query at a time, from encoded
queries to ids, with uniform and with softened IDF weights. Writes ``results/first-stages/NAME.json``.
"""

import argparse
import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from chamfer import Encoder, Ranking, Searcher, TokenBatch, TokenWeights
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import Collection, load_collection
from chamfer.data.documents import Document
from chamfer.evaluate.measures import measure
from chamfer.index.encoded import build_encoded
from chamfer.index.encoder import described
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.reproduce.environment import environment
from chamfer.retrieve.centroids import PROBES
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import EXACT, depth_of
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import encoder_for

RESULTS = Path(__file__).parent / "results" / "first-stages"
SAMPLE = 20_000
QUERIES = 500
DEPTHS = (50, 100, 200, 400, 1000, 1600)
# Sizes of small indexes on which exhaustive search and centroids are compared.
SMALL = (250, 500, 1000, 2000, 4000)
STAGES = ("centroids", "bm25", "dense", "muvera", "bm25+centroids", "bm25+dense")


def main() -> None:
    """Build the index, measure every stage, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="collection folder")
    parser.add_argument("--all", action="store_true", help="use all documents, not a sample")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--out", type=Path, help="folder for the index; removed afterwards")
    arguments = parser.parse_args()
    measured_on = environment()
    encoder, collection = encoder_for(arguments.folder), load_collection(arguments.folder, allow_empty=True)
    name = collection.name if arguments.all else f"{collection.name}-{SAMPLE // 1000}k"
    documents = encode_cached(arguments.cache, encoder, list(collection.documents), list(collection.documents.values()))
    asked = drawn_queries(collection)
    encoded = encode_cached(arguments.cache, encoder, list(asked), list(asked.values()), role="query")
    places = np.arange(len(documents)) if arguments.all else sample(collection, documents, asked)
    tokens = encoded.tokens.take([encoded.place[identifier] for identifier in asked])
    folder = arguments.out or arguments.cache / f"benchmark-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    built = build(folder, collection, documents, places, encoder)
    try:
        measured = measure_stages(Snapshot.open(folder), encoder, collection, asked, tokens)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    record = {"environment": measured_on, "collection": name, "queries": len(asked), **built, **measured}
    if not arguments.all:
        record["small"] = [small(folder, collection, documents, encoder, tokens, asked, size) for size in SMALL]
    write_json(RESULTS / f"{name}.json", record)
    show(record)


def small(
    folder: Path,
    collection: Collection,
    documents: EncodedCorpus,
    encoder: Encoder,
    tokens: TokenBatch,
    asked: Mapping[str, str],
    size: int,
) -> dict[str, Any]:
    """Latency in a small index, exhaustively and by centroids."""
    places = np.sort(np.random.default_rng(size).choice(len(documents), size, replace=False))
    built = build(folder, collection, documents, places, encoder)
    weighting = TokenWeights.uniform(encoder.vocabulary)
    try:
        searcher = Searcher(Snapshot.open(folder), encoder, first_stage=EXACT)
        found = {}
        for stage in (EXACT, "centroids"):
            _, latency = timed(partial(searcher.rank, k=10, first_stage=stage), tokens, weighting, asked)
            found[stage] = latency["milliseconds"]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(size, built["tokens"], found, flush=True)
    return {"documents": size, "tokens": built["tokens"], "milliseconds": found}


def drawn_queries(collection: Collection) -> dict[str, str]:
    """A random sample of judged queries."""
    queries = collection.judged_queries("test")
    chosen = np.random.default_rng(0).permutation(len(queries))[:QUERIES]
    ids = list(queries)
    return {ids[place]: queries[ids[place]] for place in sorted(chosen)}


def sample(collection: Collection, documents: EncodedCorpus, asked: Mapping[str, str]) -> np.ndarray[Any, Any]:
    """The relevant documents of the queries, and a random sample of others."""
    judged = collection.judgements["test"]
    relevant = {documents.place[one] for query in asked for one in judged[query] if one in documents.place}
    others = [place for place in np.random.default_rng(1).permutation(len(documents)) if place not in relevant]
    return np.sort(np.array([*relevant, *others[: SAMPLE - len(relevant)]]))


def build(
    folder: Path, collection: Collection, documents: EncodedCorpus, places: np.ndarray[Any, Any], encoder: Encoder
) -> dict[str, Any]:
    """Build an index from encoded vectors, and time it."""
    settings = Settings(encoder.dimensions, len(encoder.vocabulary), encoder=described(encoder))
    ids = [documents.ids[place] for place in places]
    texts = [Document(one, collection.documents[one]) for one in ids]
    tokens = documents.tokens if len(places) == len(documents) else documents.tokens.take(places)
    started = time.perf_counter()
    build_encoded(folder, texts, tokens, settings)
    built = time.perf_counter() - started
    return {
        "documents": len(places),
        "tokens": len(tokens.vectors),
        "centroids": len(Snapshot.open(folder).trained.clusters),
        "seconds_to_build": round(built, 1),
    }


def measure_stages(
    index: Snapshot, encoder: Encoder, collection: Collection, asked: Mapping[str, str], tokens: TokenBatch
) -> dict[str, Any]:
    """Quality and latency of each stage at each depth, and of exhaustive search."""
    judgements = {query: collection.judgements["test"][query] for query in asked}
    searcher = Searcher(index, encoder, first_stage=EXACT)
    weightings = {
        "uniform": TokenWeights.uniform(encoder.vocabulary),
        "idf-soft": TokenWeights.soft_idf(index.frequencies, encoder.vocabulary),
    }
    prepared, points = {}, []
    for stage in STAGES:
        started = time.perf_counter()
        searcher.rank(one(tokens, weightings["uniform"], asked, 0), 1, first_stage=stage, depth=10)
        prepared[stage] = round(time.perf_counter() - started, 1)
    for weights, weighting in weightings.items():
        for stage in (EXACT, *STAGES):
            for depth in (None,) if stage == EXACT else DEPTHS:

                def answer(query: Queries, stage: str = stage, depth: int | None = depth) -> Any:  # noqa: ANN401
                    return searcher.rank(query, 10, first_stage=stage, depth=depth)[0]

                found, latency = timed(answer, tokens, weighting, asked)
                rankings = [
                    Ranking(query, tuple(index.ids(answer.places)), tuple(answer.scores.tolist()))
                    for query, answer in zip(asked, found, strict=True)
                ]
                values = measure(rankings, judgements)
                points.append(
                    {
                        "stage": stage,
                        "weights": weights,
                        "depth": depth,
                        "default": stage == EXACT or depth == depth_of(stage),
                        "nDCG@10": round(float(values["nDCG@10"].mean()), 5),
                        "R@10": round(float(values["R@10"].mean()), 5),
                        **latency,
                    }
                )
                print(points[-1], flush=True)
    return {"seconds_to_prepare": prepared, "probes": PROBES, "points": points}


def one(tokens: TokenBatch, weighting: TokenWeights, asked: Mapping[str, str], place: int) -> Queries:
    """One query, as a user sends it."""
    return Queries([list(asked.values())[place]], tokens[place], weighting.of(tokens[place]))


def timed(
    answer: Callable[[Queries], Any], tokens: TokenBatch, weighting: TokenWeights, asked: Mapping[str, str]
) -> tuple[list[Any], dict[str, float]]:
    """Answer the queries one by one, after a warm-up."""
    queries = [one(tokens, weighting, asked, place) for place in range(len(tokens))]
    for query in queries[:5]:
        answer(query)
    found, times = [], []
    for query in queries:
        started = time.perf_counter()
        found.append(answer(query))
        times.append(1e3 * (time.perf_counter() - started))
    median, tail = np.percentile(times, [50, 95])
    return found, {"milliseconds": round(float(median), 3), "milliseconds_95": round(float(tail), 3)}


def show(record: Mapping[str, Any]) -> None:
    """Print the results of each stage beside exhaustive search."""
    table = Table("stage", "weights", "depth", "nDCG@10", "R@10", "ms", "of exhaustive", "times faster")
    for point in record["points"]:
        exact = next(p for p in record["points"] if p["stage"] == EXACT and p["weights"] == point["weights"])
        table.add_row(
            point["stage"],
            point["weights"],
            str(point["depth"] or ""),
            f"{point['nDCG@10']:.4f}",
            f"{point['R@10']:.4f}",
            f"{point['milliseconds']:.1f}",
            f"{point['nDCG@10'] / exact['nDCG@10']:.3f}, {point['R@10'] / exact['R@10']:.3f}",
            f"{exact['milliseconds'] / point['milliseconds']:.1f}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
