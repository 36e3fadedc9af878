"""Learning curves over judged queries, choice included.

Only queries to learn from take part: held out is a third of them, never a test query. Writes ``COLLECTION.json`` into
``--out``; with ``--plot`` also ``docs/images/learning.svg``.
"""

import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import campaign
from campaign import RESULTS, Record
from chamfer.evaluate.setup import Setup
from chamfer.learn.curve import DRAWS, Draw, Point, measure_draw, points_of
from chamfer.learn.fit import fit_weights
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.selection import FALLBACK
from chamfer.learn.start import Start
from chamfer.learn.theory import pairs_needed, sample_complexity
from corpora import described
from judged_splits import open_collection, read_splits

PLOT = Path(__file__).parents[1] / "docs" / "images" / "learning.svg"
# The collection that is plotted, and for which the paper's bounds are computed.
SHOWN = "scifact"


def main() -> None:
    """Draw the curve of each collection."""
    parser = campaign.options(__doc__, out=RESULTS / "learning-curve")
    parser.add_argument("--plot", action="store_true", help=f"also plot the curve of {SHOWN}, for the documentation")
    arguments = parser.parse_args()
    measured = partial(measure_one_draw, encoder=arguments.encoder, cache=arguments.cache)
    campaign.measure_in_parts(arguments, DRAWS, measured, pool, lambda record: str(record["points"][-1]))
    if arguments.plot:
        plot(arguments.data / SHOWN, arguments.encoder, arguments.cache, arguments.out / f"{SHOWN}.json")


class ToLearnFrom(NamedTuple):
    """The queries of a collection that may be learnt from."""

    setup: Setup
    group_by: str
    queries: list[JudgedQuery]
    start: Start

    @classmethod
    def read(cls, folder: Path, encoder: str, cache: Path) -> "ToLearnFrom":
        """Read those of the first seed."""
        setup, group_by = open_collection(folder, cache, encoder)
        splits, _ = read_splits(setup, group_by, 0)
        queries = [*splits.train, *splits.validation]
        return cls(setup, group_by, queries, starting_weights(setup, learnt_from=len(queries)))


def measure_one_draw(folder: Path, draw: int, *, encoder: str, cache: Path) -> Record:
    """Measure one draw; the first one of :data:`SHOWN` also computes the paper's bounds."""
    given = ToLearnFrom.read(folder, encoder, cache)
    began = time.perf_counter()
    found = measure_draw(given.queries, given.start, draw=draw, group_by=given.group_by)
    record = {
        "dataset": given.setup.collection.name,
        "encoder": described(given.setup.encoder, encoder),
        "queries": len(given.queries),
        "seconds": round(time.perf_counter() - began, 1),
        "sizes": found.sizes,
        "values": found.values.tolist(),
    }
    if (folder.name, draw) == (SHOWN, 0):
        theory = sample_complexity(given.queries)
        record["theory"] = {**theory._asdict(), "pairs_for_excess_risk_of_half": pairs_needed(theory.tokens, 0.5)}
    return record


def pool(draws: Sequence[Record]) -> Record:
    """The curve of a collection from its draws."""
    points = points_of([Draw(one["sizes"], np.array(one["values"])) for one in draws])
    return {
        **{name: draws[0][name] for name in ("dataset", "encoder", "queries", "theory") if name in draws[0]},
        "seconds": [one["seconds"] for one in draws],
        "baseline": FALLBACK.name,
        "points": [point._asdict() for point in points],
    }


def plot(folder: Path, encoder: str, cache: Path, measured: Path) -> None:
    """Plot a curve that has been measured, next to what is learnt from all of the queries."""
    from chamfer.learn.plot import plot_learning  # needs Matplotlib

    given = ToLearnFrom.read(folder, encoder, cache)
    points = [Point(**point) for point in json.loads(measured.read_text())["points"]]
    weights, report = fit_weights(given.queries, given.start, group_by=given.group_by)
    plot_learning(PLOT, report, weights, given.start.soft, given.queries, points)


if __name__ == "__main__":
    main()
