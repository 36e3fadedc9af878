"""The paper's recipe with one thing changed at a time, down to the optimum of its loss.

Every variant is fitted to training queries and measured on validation and on test queries; nothing is chosen on either.
Writes ``results/paper-study/COLLECTION.json``, one file per collection, and ``synthetic.json`` for queries on which
uniform weights are right; what is there is skipped unless ``--again``.
"""

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import compress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from chamfer import TokenWeights
from chamfer.data.collection import load_collection
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.setup import Setup
from chamfer.learn.fit import fit_weights
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.paper_optimisers import ITERATIONS, rate
from chamfer.learn.paper_variant import Variant, fit_variant
from chamfer.learn.presets import PAPER, Preset
from chamfer.learn.quality import quality
from chamfer.learn.splits import Splits
from chamfer.learn.start import Start
from chamfer.learn.ties import are_apart
from chamfer.reproduce.debates import grouped_by, with_debates
from chamfer.reproduce.environment import environment
from chamfer.reproduce.separator import with_separator_idf
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import collections, encoder_for
from few_shot import SEEDS, read_splits, shuffled
from paper_controls import SYNTHETIC, uniform_queries, uniform_start

RESULTS = Path(__file__).parent / "results" / "paper-study"
PUBLISHED, SHUFFLED, WHOLE, IDF = "published", "published, judgements shuffled", "whole recipe", "IDF"


def variants(tokens: int) -> dict[str, Variant]:
    """The settings to compare, for queries with this number of distinct tokens.

    Where their weights sum to 1, a temperature of ``tokens`` gives the scores of weights around 1; our own recipes
    multiply those by 20.
    """
    own, sharp = float(tokens), 20.0 * tokens
    return {
        PUBLISHED: Variant(),
        "all tokens sum to 1": Variant(total="all"),
        "temperature T": Variant(temperature=own),
        "temperature 20 T": Variant(temperature=sharp),
        "fixed negatives": Variant(fixed_negatives=True),
        "fixed negatives, temperature 20 T": Variant(fixed_negatives=True, temperature=sharp),
        "alpha 0: one loss, 100 negatives": Variant(Preset(0, 0, 100)),
        "alpha 0.5": Variant(Preset(0.5, 10, 100)),
        "alpha 1: one loss, 10 negatives": Variant(Preset(1, 10, 100)),
        "optimum": Variant(optimiser="convex"),
        "optimum, temperature T": Variant(temperature=own, optimiser="convex"),
        "optimum, temperature 20 T": Variant(temperature=sharp, optimiser="convex"),
        "optimum, free sum": Variant(total="free", optimiser="convex"),
        "optimum, free sum, fixed negatives": Variant(total="free", fixed_negatives=True, optimiser="convex"),
    }


def main() -> None:
    """Run the study on synthetic queries and on every collection, smallest first, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", help="names of collections (default: all, and synthetic queries)")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of random divisions into splits")
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    measured_on = environment()
    names = arguments.collections
    jobs = {SYNTHETIC: partial(measure_synthetic, arguments.seeds)} if not names or SYNTHETIC in names else {}
    if names != [SYNTHETIC]:
        for folder in collections(arguments.data, names):
            jobs[folder.name] = partial(measure_collection, folder, arguments.cache, arguments.seeds)
    for name, job in jobs.items():
        out = RESULTS / f"{name}.json"
        if out.exists() and not arguments.again:
            continue
        began = time.perf_counter()
        # In its own process, which gives the memory back.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            runs = process.submit(job).result()
        write_json(out, {"environment": measured_on, "dataset": name, "runs": runs})
        print(f"{name}: {len(runs)} runs in {time.perf_counter() - began:.0f} s", flush=True)


def measure_synthetic(seeds: int) -> list[dict[str, Any]]:
    """Run the study on queries for which uniform weights are right."""
    drawn = ((seed, [uniform_queries(3 * seed + part) for part in range(3)]) for seed in range(seeds))
    return [measure_splits(Splits(*parts), uniform_start(), seed) for seed, parts in drawn]


def measure_collection(folder: Path, cache: Path, seeds: int) -> list[dict[str, Any]]:
    """Run the study on a collection, once for each seed that divides it differently."""
    collection = with_debates(load_collection(folder, allow_empty=True))
    setup = Setup(collection, encoder_for(folder), cache)
    runs, known = [], set()
    for seed in range(seeds):
        splits, _ = read_splits(setup, grouped_by(collection), seed)
        ids = tuple(tuple(query.query_id for query in part) for part in splits)
        if ids not in known:  # where a collection has all its splits, nothing is drawn
            known.add(ids)
            start = starting_weights(setup, learnt_from=len(splits.train))
            runs.append(measure_splits(splits, with_separator_idf(start, setup.frequencies), seed))
    return runs


def measure_splits(splits: Splits[JudgedQuery], start: Start, seed: int) -> dict[str, Any]:
    """Fit and measure every variant, IDF and the whole recipe."""
    seen = tokens_seen(splits.train)
    systems = {"uniform": _measured(start.uniform, splits), IDF: _measured(start.idf, splits)}
    for name, variant in variants(len(seen)).items():
        systems[name] = _fitted(splits.train, splits, start, variant)
    systems[SHUFFLED] = _fitted(shuffled(splits.train, seed), splits, start, Variant())
    whole, report = fit_weights(splits.train, start, recipe=PAPER, validation=splits.validation, seed=seed)
    systems[WHOLE] = {**_measured(whole, splits), "chosen": report.choice.name}
    del systems[WHOLE]["validation"]  # it learns from these too
    return {
        "seed": seed,
        "queries": {**{role: len(own) for role, own in splits._asdict().items()}, "apart": len(apart(splits))},
        "seen": len(seen),
        # All steps of Adam together, in initial weights.
        "longest_path": len(seen) * sum(rate(step + 1) for step in range(ITERATIONS)),
        "systems": systems,
    }


def apart(splits: Splits[JudgedQuery]) -> list[JudgedQuery]:
    """The test queries that share neither words nor a relevant document with a query that may be learnt from."""
    return list(compress(splits.test, are_apart(splits.test, [*splits.train, *splits.validation])))


def _fitted(
    train: Sequence[JudgedQuery], splits: Splits[JudgedQuery], start: Start, variant: Variant
) -> dict[str, Any]:
    began = time.perf_counter()
    weights, found = fit_variant(train, start.idf, variant)
    return {
        **_measured(weights, splits),
        "zeros": float((found.weights == 0).mean()),
        "largest": float(found.weights.max() / found.weights.sum()),
        "path": found.path,
        "loss": found.loss,
        "lowered": found.lowered,
        "gap": found.gap,
        "seconds": round(time.perf_counter() - began, 1),
    }


def _measured(weights: TokenWeights, splits: Splits[JudgedQuery]) -> dict[str, Any]:
    parts = {"validation": splits.validation, "test": splits.test, "apart": apart(splits)}
    return {
        role: dict(zip(MAIN_MEASURES, np.asarray(quality(queries, weights)).mean(axis=0).tolist(), strict=True))
        for role, queries in parts.items()
        if queries
    }


if __name__ == "__main__":
    main()
