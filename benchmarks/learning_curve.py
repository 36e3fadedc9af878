"""The learning curve over judged queries, and the time that learning takes, on one collection.

Writes ``results/learning-curve.json`` and the plot ``docs/images/learning.svg``.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chamfer.cache.location import default_cache
from chamfer.data.collection import load_collection
from chamfer.learn.curve import DEFAULT, learning_curve
from chamfer.learn.fit import fit_weights
from chamfer.learn.learning import learn
from chamfer.learn.plot import plot_learning
from chamfer.learn.recipes.prior import fit_prior
from chamfer.learn.theory import pairs_needed, sample_complexity
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json
from corpora import encoder_for

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Learn, plot and time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path, help="collection with a train split")
    parser.add_argument("--cache", type=Path, default=default_cache())
    arguments = parser.parse_args()
    measured_on = environment()
    collection = load_collection(arguments.collection)
    learnt = learn(collection, encoder=encoder_for(arguments.collection), cache=arguments.cache, test="test")
    queries, start = learnt.queries, learnt.start
    members = learnt.report.members or DEFAULT  # as the command does where no learnt weights were chosen
    points = learning_curve(queries, start, members)
    plot_learning(ROOT / "docs" / "images" / "learning.svg", learnt.report, learnt.weights, start.soft, queries, points)
    theory = sample_complexity(queries)
    record = {
        "environment": measured_on,
        "dataset": collection.name,
        "queries": len(queries),
        "curve_of": [one.name for one in members],
        "curve": [point._asdict() for point in points],
        "theory": {**theory._asdict(), "pairs_for_excess_risk_of_half": pairs_needed(theory.tokens, 0.5)},
        "auto_seconds": timed(lambda: fit_weights(queries, start), repeats=3),
        "prior_seconds": timed(lambda: fit_prior(queries, start.soft), repeats=5),
    }
    write_json(ROOT / "benchmarks" / "results" / "learning-curve.json", record)
    print(f"auto {record['auto_seconds']}, prior {record['prior_seconds']}")


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
