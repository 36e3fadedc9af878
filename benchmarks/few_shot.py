"""Learnt weights on whole judged collections: chosen on training and validation queries, measured on test queries.

Everything that is drawn to learn from is drawn with five seeds: the samples of the largest collections, validation
queries, folds, false labels. What is tested is the same for all seeds. Writes ``results/few-shot/COLLECTION.json``, one
file per collection; one that is there is skipped unless ``--again``.
"""

import argparse
import resource
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import compress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from chamfer import TokenWeights
from chamfer.data.collection import load_collection
from chamfer.data.judgements import TEST, TRAIN
from chamfer.encode.settings import MINILM
from chamfer.evaluate.setup import Setup
from chamfer.learn.auto import fit_auto
from chamfer.learn.fit import fit_weights
from chamfer.learn.folds import folds_if_possible
from chamfer.learn.judged import JudgedQuery, teachable
from chamfer.learn.on_collection import judge_splits, starting_weights
from chamfer.learn.presets import PAPER
from chamfer.learn.quality import quality
from chamfer.learn.registry import blended_recipes, configurations_of
from chamfer.learn.report import LearningReport
from chamfer.learn.solver import TEMPERATURE
from chamfer.learn.splits import DOCUMENT, TEXT, Splits, divide, split_queries
from chamfer.learn.start import Start
from chamfer.learn.ties import are_apart, are_new, group
from chamfer.reproduce.debates import grouped_by, with_debates
from chamfer.reproduce.environment import environment
from chamfer.reproduce.separator import with_separator_idf
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import collections, encoder_for
from seeds import SeedResult, pooled

RESULTS = Path(__file__).parent / "results"
# Queries of each split of the largest collections, drawn at random.
MOST = dict.fromkeys(("nfcorpus", "boolq", "medquad", "acl-titles", "nl2bash"), 700)
SEEDS = 5
SHUFFLED, DRAWN = "auto on shuffled labels", "auto on labels drawn by idf-soft"


def main() -> None:
    """Learn on every collection, smallest first, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", help="names of collections (default: all)")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--encoder", default=MINILM, help="name or path of the encoder")
    parser.add_argument("--out", type=Path, default=RESULTS / "few-shot", help="folder for the results")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    measured_on = environment()
    for folder in collections(arguments.data, arguments.collections):
        out = arguments.out / f"{folder.name}.json"
        if out.exists() and not arguments.again:
            continue
        # In its own process, so that peak memory is its own.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            record = process.submit(measure_collection, folder, arguments.encoder, arguments.cache).result()
        write_json(out, {"environment": measured_on, **record})
        print(f"{folder.name}: {record['seconds']} s", flush=True)


def measure_collection(folder: Path, encoder: str, cache: Path) -> dict[str, Any]:
    """Learn with every seed, and pool the results."""
    collection = with_debates(load_collection(folder, allow_empty=True))
    group_by = grouped_by(collection)
    setup = Setup(collection, encoder_for(folder, encoder), cache)
    began = time.perf_counter()
    seeds, reports = [], []
    for seed in range(SEEDS):
        splits, repeated = read_splits(setup, group_by, seed)
        found, report = measure_seed(setup, splits, group_by, seed)
        seeds.append(found)
        reports.append({**report.as_json(), "repeated": repeated})
    return {
        "dataset": collection.name,
        "encoder": {
            "name": Path(encoder).name,
            "model": setup.encoder.model_fingerprint,
            "arithmetic": setup.encoder.arithmetic,
        },
        "splits": {name: len(part) for name, part in splits._asdict().items()},
        "seeds": SEEDS,
        "seconds": round(time.perf_counter() - began, 1),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        **pooled(seeds),
        "reports": reports,
    }


def read_splits(setup: Setup, group_by: str, seed: int) -> tuple[Splits[JudgedQuery], int]:
    """The splits for a seed, without training and validation queries that are tested in the same words; their number.

    What is tested never changes with the seed, so that no seed tests what another has learnt from. Where there is
    only a test split, half of it is tested: drawn at random, as in the paper, or by the field that the collection's
    queries are grouped by.
    """
    collection, most = setup.collection, MOST.get(setup.collection.name)
    roles = [name for name in collection.judgements if name != TEST]
    tested = judge_splits(setup, [TEST], max_queries=most, group_by=group_by)[TEST]
    if roles:
        judged = judge_splits(setup, roles, max_queries=most, group_by=group_by, seed=seed)
    else:
        by = TEXT if group_by == DOCUMENT else group_by
        rest, tested = divide(tested, 0.5, groups=group(tested, by).labels)
        judged = {TRAIN: rest}
    splits = split_queries({**judged, TEST: tested}, seed=seed, grouped=lambda queries: group(queries, group_by).labels)
    validation = list(compress(splits.validation, are_new(splits.validation, splits.test)))
    train = list(compress(splits.train, are_new(splits.train, [*validation, *splits.test])))
    repeated = len(splits.train) + len(splits.validation) - len(train) - len(validation)
    return Splits(teachable(train)[0], teachable(validation)[0], splits.test), repeated


def measure_seed(
    setup: Setup, splits: Splits[JudgedQuery], group_by: str, seed: int
) -> tuple[SeedResult, LearningReport]:
    """Learn with each recipe, with ``auto``, and with ``auto`` on two kinds of false labels; measure the results."""
    queries = [*splits.train, *splits.validation]
    start = starting_weights(setup, learnt_from=len(queries))
    auto, report = fit_weights(queries, start, group_by=group_by, seed=seed)
    theirs = with_separator_idf(start, setup.frequencies)
    systems = {
        "uniform": start.uniform,
        "idf": start.idf,
        "idf-soft": start.soft,
        "mix": start.mix,
        PAPER: fit_weights(splits.train, theirs, recipe=PAPER, validation=splits.validation, seed=seed).weights,
        **{
            recipe: fit_weights(queries, start, recipe=recipe, group_by=group_by, seed=seed).weights
            for recipe in ("prior", "context")
        },
        "auto": auto,
        SHUFFLED: auto_weights(shuffled(queries, seed), start, group_by, seed),
        DRAWN: auto_weights(drawn(queries, start.soft, seed), start, group_by, seed),
    }
    return SeedResult(
        query_ids=[query.query_id for query in splits.test],
        groups=group(splits.test, group_by).labels,
        apart=are_apart(splits.test, queries),
        values={name: quality(splits.test, weights) for name, weights in systems.items()},
    ), report


def auto_weights(queries: Sequence[JudgedQuery], start: Start, group_by: str, seed: int) -> TokenWeights:
    """Weights learnt by ``auto``, without its report, which takes most of the time."""
    divided = partial(folds_if_possible, group_by=group_by, seed=seed)
    groups, chosen = group(queries, group_by).labels, configurations_of(blended_recipes(queries))
    return fit_auto(queries, start, chosen, divided, groups, measure=False).weights


def shuffled(queries: Sequence[JudgedQuery], seed: int) -> list[JudgedQuery]:
    """The same queries with their grades dealt to random candidates, which are mostly far from the query."""
    generator = np.random.default_rng(seed)
    return teachable([replace(query, grades=generator.permutation(query.grades)) for query in queries])[0]


def drawn(queries: Sequence[JudgedQuery], weights: TokenWeights, seed: int) -> list[JudgedQuery]:
    """The same queries with their grades dealt to candidates by some weights, which are then the right ones.

    Candidates are drawn one after the other from the softmax of their scores, at the temperature that learning starts
    from. These labels look like real ones: what is relevant is mostly close.
    """
    generator = np.random.default_rng(seed)
    found = []
    for query in queries:
        own = weights.of_tokens(query.token_ids, query.vectors)
        scores = -TEMPERATURE * (query.distances @ own) / own.sum()
        order = np.argsort(-(scores + generator.gumbel(size=len(scores))), kind="stable")
        grades = np.zeros_like(query.grades)
        grades[order] = -np.sort(-query.grades)
        found.append(replace(query, grades=grades))
    return teachable(found)[0]


if __name__ == "__main__":
    main()
