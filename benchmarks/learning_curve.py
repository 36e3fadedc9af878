"""Learning curves over judged queries, choice included, and the time that learning takes.

Only queries to learn from take part: held out is a third of them, never a test query. Writes
``results/learning-curve.json``, collection by collection, and the plot ``docs/images/learning.svg`` of the first one.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chamfer.data.collection import load_collection
from chamfer.evaluate.setup import Setup
from chamfer.learn.curve import learning_curve
from chamfer.learn.fit import fit_weights
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.plot import plot_learning
from chamfer.learn.recipes.prior import fit_prior
from chamfer.learn.selection import FALLBACK
from chamfer.learn.theory import pairs_needed, sample_complexity
from chamfer.reproduce.debates import grouped_by, with_debates
from chamfer.reproduce.environment import environment
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import encoder_for
from few_shot import read_splits

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "learning-curve.json"


def main() -> None:
    """Draw the curve of each collection; plot and time the first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", type=Path, nargs="+", help="folders of collections")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    found = json.loads(RESULT.read_text()) if RESULT.exists() and not arguments.again else {"curves": {}}
    measured_on = environment()
    for folder in arguments.collections:
        if folder.name in found["curves"]:
            continue
        collection = with_debates(load_collection(folder, allow_empty=True))
        setup = Setup(collection, encoder_for(folder), arguments.cache)
        splits, _ = read_splits(setup, grouped_by(collection), 0)
        queries = [*splits.train, *splits.validation]
        start = starting_weights(setup, learnt_from=len(queries))
        points = learning_curve(queries, start, group_by=grouped_by(collection))
        found["curves"][folder.name] = {
            "environment": measured_on,
            "baseline": FALLBACK.name,
            "points": [point._asdict() for point in points],
        }
        if folder == arguments.collections[0]:
            weights, report = fit_weights(queries, start, group_by=grouped_by(collection))
            plot_learning(ROOT / "docs" / "images" / "learning.svg", report, weights, start.soft, queries, points)
            theory = sample_complexity(queries)
            found |= {
                "environment": measured_on,
                "dataset": collection.name,
                "queries": len(queries),
                "theory": {**theory._asdict(), "pairs_for_excess_risk_of_half": pairs_needed(theory.tokens, 0.5)},
                "auto_seconds": timed(lambda: fit_weights(queries, start), repeats=3),  # noqa: B023 -- called at once
                "prior_seconds": timed(lambda: fit_prior(queries, start.soft), repeats=5),  # noqa: B023 -- called at once
            }
        write_json(RESULT, found)
        print(f"{folder.name}: {points[-1]}", flush=True)


def timed(function: Callable[[], Any], *, repeats: int) -> dict[str, float]:
    """Median, minimum and maximum of repeated runs."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
    median = statistics.median(seconds)
    return {"median": round(median, 2), "fastest": round(min(seconds), 2), "slowest": round(max(seconds), 2)}


if __name__ == "__main__":
    main()
