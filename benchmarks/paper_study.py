"""The paper's recipe with one thing changed at a time, down to the optimum of its loss.

Every variant is fitted to training queries and measured on validation and on test queries; nothing is chosen on either.
Writes ``COLLECTION.json`` into ``--out``, and ``synthetic.json`` for queries on which uniform weights are right.
"""

import time
from collections.abc import Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

import campaign
from campaign import RESULTS, Record
from chamfer import TokenWeights
from chamfer.evaluate.groups import are_apart
from chamfer.evaluate.measures import MAIN_MEASURES
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
from chamfer.reproduce.separator import with_separator_idf
from corpora import collections, described
from false_labels import shuffled
from judged_splits import open_collection, read_splits
from learning import SEEDS
from paper_controls import SYNTHETIC, uniform_queries, uniform_start

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
    """Run the study on synthetic queries and on every collection."""
    parser = campaign.options(__doc__, out=RESULTS / "paper-study")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of random divisions into splits")
    arguments = parser.parse_args()
    names, seeds = arguments.collections, arguments.seeds
    jobs = {SYNTHETIC: partial(measure_synthetic, seeds)} if not names or SYNTHETIC in names else {}
    if names != [SYNTHETIC]:
        for folder in collections(arguments.data, names):
            jobs[folder.name] = partial(measure_collection, folder, arguments.encoder, arguments.cache, seeds)
    by_file = {arguments.out / f"{name}.json": job for name, job in jobs.items()}
    missing = campaign.missing(arguments, by_file)
    campaign.run({out: by_file[out] for out in missing}, arguments, lambda record: f"{len(record['runs'])} runs")


def measure_synthetic(seeds: int) -> Record:
    """Run the study on queries for which uniform weights are right."""
    drawn = ((seed, [uniform_queries(3 * seed + part) for part in range(3)]) for seed in range(seeds))
    runs = [measure_splits(Splits(*parts), uniform_start(), seed) for seed, parts in drawn]
    return {"dataset": SYNTHETIC, "runs": runs}


def measure_collection(folder: Path, encoder: str, cache: Path, seeds: int) -> Record:
    """Run the study on a collection, once for each seed that divides it differently."""
    setup, group_by = open_collection(folder, cache, encoder)
    runs, known = [], set()
    for seed in range(seeds):
        splits, _ = read_splits(setup, group_by, seed)
        ids = tuple(tuple(query.query_id for query in part) for part in splits)
        if ids not in known:  # where a collection has all its splits, nothing is drawn
            known.add(ids)
            start = starting_weights(setup, learnt_from=len(splits.train))
            runs.append(measure_splits(splits, with_separator_idf(start, setup.frequencies), seed))
    return {"dataset": setup.collection.name, "encoder": described(setup.encoder, encoder), "runs": runs}


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
