"""Learnt weights on whole judged collections: chosen on training and validation queries, measured on test queries.

Writes ``results/few-shot/COLLECTION.json``, one file per collection; one that is there is passed over unless
``--again``.
"""

import argparse
import resource
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from chamfer import TokenWeights
from chamfer.cache.location import default_cache
from chamfer.data.collection import load_collection
from chamfer.evaluate.setup import Setup
from chamfer.learn.fit import fit_weights
from chamfer.learn.fitting import fit_configurations
from chamfer.learn.judged import JudgedQuery, teachable
from chamfer.learn.learnt import measure_held_out
from chamfer.learn.on_collection import judge_splits, starting_weights
from chamfer.learn.registry import configurations_of
from chamfer.learn.report import LearningReport
from chamfer.learn.splits import Splits, split_queries
from chamfer.learn.start import Start
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json
from corpora import collections, encoder_for

RESULTS = Path(__file__).parent / "results" / "few-shot"
MOST = {"boolq": 700, "medquad": 700, "acl-titles": 700}  # queries of each split, drawn at random


def main() -> None:
    """Learn on every collection, smallest first, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", help="names of collections (default: all)")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--seed", type=int, default=0, help="random seed of splits and folds")
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    measured_on = environment()
    for folder in collections(arguments.data, arguments.collections):
        out = RESULTS / f"{folder.name}.json"
        if out.exists() and not arguments.again:
            continue
        # In its own process, so that peak memory is its own.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            record = process.submit(measure_collection, folder, arguments.cache, arguments.seed).result()
        write_json(out, {"environment": measured_on, **record})
        print(f"{folder.name}: {record['report']['chosen']} in {record['seconds']} s")
        for name, system in record["systems"].items():
            changes = [f"{key} {system['learnt'][key]:.4f} ({system['change'][key]:+.1%})" for key in system["learnt"]]
            print(f"  {name:8} {'  '.join(changes)}", flush=True)


def measure_collection(folder: Path, cache: Path, seed: int) -> dict[str, Any]:
    """Learn with each recipe and with ``auto``, and measure them on the test queries."""
    collection = load_collection(folder, allow_empty=True)
    setup = Setup(collection, encoder_for(folder), cache)
    names = list(collection.judgements)
    splits = split_queries(judge_splits(setup, names, max_queries=MOST.get(folder.name), seed=seed), seed=seed)
    train, validation = teachable(splits.train)[0], teachable(splits.validation)[0]
    queries = [*train, *validation]
    start = starting_weights(setup, learnt_from=len(queries))
    began = time.perf_counter()
    chosen, report = fit_weights(queries, start, seed=seed)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    systems = {
        "idf": start.idf,
        "idf-soft": start.soft,
        "paper": fit_weights(train, start, recipe="paper", validation=validation, seed=seed).weights,
        "prior": _best_of("prior", report, queries, start),
        "context": _best_of("context", report, queries, start),
        "auto": chosen,
    }
    return {
        "dataset": collection.name,
        "splits": {"train": len(train), "validation": len(validation), "test": len(splits.test)},
        "seed": seed,
        "seconds": round(seconds, 1),
        "peak_memory_mb": peak,
        "systems": {name: _measured(weights, splits, start) for name, weights in systems.items()},
        "report": report.as_json(),
    }


def _best_of(recipe: str, report: LearningReport, queries: Sequence[JudgedQuery], start: Start) -> TokenWeights:
    """The best configuration of a recipe on held-out queries, fitted to all queries."""
    best = next(row for row in report.best_of_each() if row.recipe == recipe)
    configuration = next(one for one in configurations_of([recipe]) if one.name == best.name)
    return next(fit_configurations(queries, start, [configuration]))[1]


def _measured(weights: TokenWeights, splits: Splits[JudgedQuery], start: Start) -> Mapping[str, Any]:
    found = measure_held_out(splits.test, weights, start.uniform)
    change = {name: found.learnt[name] / found.uniform[name] - 1 for name in found.learnt}
    return {**found.as_json(), "change": change, "made": dict(weights.metadata)}


if __name__ == "__main__":
    main()
