"""What ``[CLS]`` and ``[SEP]`` of a query should weigh: the default mix with other weights for them.

Only queries to learn from take part, never a test query; queries and splits are those of mix_choice.py. Writes
``COLLECTION.json`` into ``--out``.
"""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import campaign
from campaign import RESULTS, Record
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.quality import quality
from chamfer.weights.mix import NOTHING
from chamfer.weights.special import with_special
from corpora import described
from judged_splits import open_collection, read_chosen_on

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0)
MIXED, ALONE = "mix", "token weights of the mix alone"


def main() -> None:
    """Measure every collection."""
    arguments = campaign.options(__doc__, out=RESULTS / "special-tokens").parse_args()
    measured = partial(measure_collection, encoder=arguments.encoder, cache=arguments.cache)
    campaign.measure(arguments, measured, lambda record: f"{record['seconds']} s")


def measure_collection(folder: Path, encoder: str, cache: Path) -> Record:
    """Measure every weight of special tokens on a sample of the queries to learn from."""
    opened = open_collection(folder, cache, encoder)
    chosen, setup, began = read_chosen_on(opened), opened.setup, time.perf_counter()
    mix, vocabulary = starting_weights(setup, learnt_from=len(chosen)).mix, setup.encoder.vocabulary
    systems = {}
    for name, weights in ((MIXED, mix), (ALONE, mix.with_mix(NOTHING))):
        for special in WEIGHTS:
            table = with_special(weights.table.astype(np.float64), vocabulary, special)
            found = quality(chosen, replace(weights, table=table)).mean(axis=0)
            systems[name_of(name, special)] = dict(zip(MAIN_MEASURES, found.round(6).tolist(), strict=True))
    return {
        "dataset": setup.collection.name,
        "encoder": described(setup.encoder, encoder),
        "queries": len(chosen),
        "seconds": round(time.perf_counter() - began, 1),
        "systems": systems,
    }


def name_of(kind: str, special: float) -> str:
    """Name of a weighting with a weight of special tokens."""
    return f"{kind}, special {special:g}"


if __name__ == "__main__":
    main()
