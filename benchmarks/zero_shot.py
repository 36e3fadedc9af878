"""Zero-shot weights on whole judged collections: BM25 top 1000, then each weighting.

Writes ``results/zero-shot/COLLECTION.json``, one file per collection, so that an interrupted run keeps its
results; collections with results are skipped unless ``--again`` is given.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console

from chamfer import TokenWeights, count_frequencies
from chamfer.cache.location import default_cache
from chamfer.cli.evaluation_table import as_table, title
from chamfer.data.collection import load_collection
from chamfer.evaluate.evaluation import Evaluation
from chamfer.evaluate.experiment import evaluate
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json
from corpora import collections, encoder_for

RESULTS = Path(__file__).parent / "results" / "zero-shot"
QUERY_MEAN = "idf-soft-query-mean"
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
        out = RESULTS / f"{folder.name}.json"
        if folder.name == LARGE or (out.exists() and not arguments.again):
            continue
        evaluation = measure_collection(folder, arguments.cache)
        print(title(evaluation))
        Console().print(as_table(evaluation))
        write_json(out, {"environment": measured_on, **evaluation.as_json()})


def measure_collection(folder: Path, cache: Path) -> Evaluation:
    """Evaluate the usual weightings, and softened IDF divided by the mean IDF of the query tokens.

    The trial that suggested softened IDF divided by that mean, which a user without queries does not have.
    """
    encoder = encoder_for(folder)
    collection = load_collection(folder, allow_empty=True)
    frequencies = count_frequencies(encoder, list(collection.documents.values()))
    known = (frequencies.counts > 0) & ~encoder.vocabulary.is_special
    tokens = np.concatenate(encoder.tokenize(list(collection.judged_queries("test").values()), "query").token_ids)
    mean = float(frequencies.idf()[tokens[known[tokens]]].mean())
    with TemporaryDirectory() as temporary:
        query_mean = Path(temporary) / f"{QUERY_MEAN}.safetensors"
        TokenWeights.soft_idf(frequencies, encoder.vocabulary, mean=mean, made_from={"mean": mean}).save(query_mean)
        evaluation = evaluate(collection, ["uniform", "idf", "idf-soft", str(query_mean)], encoder=encoder, cache=cache)
    # The name of the temporary folder means nothing to readers of the results.
    systems = tuple(replace(system, name=Path(system.name).stem) for system in evaluation.systems)
    return replace(evaluation, systems=systems)


if __name__ == "__main__":
    main()
