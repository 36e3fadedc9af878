"""Zero-shot weights on whole judged collections: BM25 top 1000, then each weighting.

Writes ``results/zero-shot/COLLECTION.json`` and, for the variants of softened IDF,
``results/zero-shot-variants/COLLECTION.json``: files per collection, so that an interrupted run keeps its results.
What has results is skipped unless ``--again`` is given.
"""

import argparse
from pathlib import Path

from rich.console import Console

from chamfer.cli.evaluation_table import as_table, title
from chamfer.data.collection import load_collection
from chamfer.evaluate.on_collection import evaluate_collection
from chamfer.evaluate.setup import Setup
from chamfer.reproduce.environment import environment
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from chamfer.weights.zero_shot import NAMES
from corpora import collections, encoder_for
from zero_shot_variants import measure_variants

RESULTS = Path(__file__).parent / "results"
LARGE = "acl-titles"  # known-item search; measured with the index


def main() -> None:
    """Evaluate every collection, smallest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", help="names of collections (default: all)")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    measured_on = environment()  # before the run, which takes an hour in which the code may change
    for folder in collections(arguments.data, arguments.collections):
        weights, variants = (RESULTS / kind / f"{folder.name}.json" for kind in ("zero-shot", "zero-shot-variants"))
        missing = [out for out in (weights, variants) if arguments.again or not out.exists()]
        if folder.name == LARGE or not missing:
            continue
        setup = Setup(load_collection(folder, allow_empty=True), encoder_for(folder), arguments.cache)
        if weights in missing:
            evaluation = evaluate_collection(setup, NAMES)
            print(title(evaluation))
            Console().print(as_table(evaluation))
            write_json(weights, {"environment": measured_on, **evaluation.as_json()})
        if variants in missing:
            record = measure_variants(setup)
            write_json(variants, {"environment": measured_on, **record})
            print(f"{folder.name}, variants:")
            for name, variant in record["systems"].items():
                values = "  ".join(f"{measure} {value:.4f}" for measure, value in variant["measures"].items())
                print(f"  {name:16} {values}", flush=True)


if __name__ == "__main__":
    main()
