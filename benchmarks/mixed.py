"""Evidence beside the tokens, and what labels add to it: without labels, and learnt by ``auto``, on test queries.

Splits are those of few_shot.py. Writes ``COLLECTION.json`` into ``--out``, one file per collection.
"""

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from chamfer import TokenWeights
from chamfer.data.collection import load_collection
from chamfer.encode.settings import MINILM
from chamfer.evaluate.setup import Setup
from chamfer.learn.fit import fit_weights
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.quality import quality
from chamfer.learn.report import LearningReport
from chamfer.learn.start import Start
from chamfer.learn.ties import are_apart, group
from chamfer.reproduce.debates import grouped_by, with_debates
from chamfer.reproduce.environment import environment
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from chamfer.weights.mix import EVIDENCE, FOR_POOLED_ENCODERS, NOTHING
from corpora import collections, encoder_for
from few_shot import DRAWN, RESULTS, SHUFFLED, auto_weights, drawn, read_splits, shuffled
from seeds import SeedResult, pooled

SEEDS = 5


def main() -> None:
    """Measure every collection, smallest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", help="names of collections (default: all)")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--encoder", default=MINILM, help="name or path of the encoder")
    parser.add_argument("--out", type=Path, default=RESULTS / "mixed" / "minilm", help="folder for the results")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of divisions to learn from")
    parser.add_argument("--jobs", type=int, default=1, help="collections at a time")
    parser.add_argument("--controls", action="store_true", help="also learn from two kinds of false labels")
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    measured_on = environment()
    folders = [
        folder
        for folder in collections(arguments.data, arguments.collections)
        if arguments.again or not (arguments.out / f"{folder.name}.json").exists()
    ]
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        waiting = {
            processes.submit(
                measure_collection,
                folder,
                arguments.encoder,
                arguments.cache,
                arguments.seeds,
                controls=arguments.controls,
            ): folder
            for folder in folders
        }
        for finished in as_completed(waiting):
            folder = waiting[finished]
            try:
                record = finished.result()
            except Exception as error:  # the other collections go on
                print(f"{folder.name}: {error!r}", flush=True)
                continue
            write_json(arguments.out / f"{folder.name}.json", {"environment": measured_on, **record})
            print(f"{folder.name}: {record['seconds']} s, {summary(record)}", flush=True)


def measure_collection(folder: Path, encoder: str, cache: Path, count: int, *, controls: bool) -> dict[str, Any]:
    """Learn with every seed, and pool the results."""
    collection = with_debates(load_collection(folder, allow_empty=True))
    group_by = grouped_by(collection)
    setup = Setup(collection, encoder_for(folder, encoder), cache)
    began = time.perf_counter()
    seeds: list[SeedResult] = []
    reports, seconds = [], []
    for seed in range(count):
        splits, _ = read_splits(setup, group_by, seed)
        queries = [*splits.train, *splits.validation]
        start = starting_weights(setup, learnt_from=len(queries))
        at = time.perf_counter()
        auto, report = fit_weights(queries, start, group_by=group_by, seed=seed)
        seconds.append(round(time.perf_counter() - at, 1))
        systems: dict[str, TokenWeights] = {**zero_shot(start), **learnt(auto)}
        if controls:
            systems |= {
                SHUFFLED: auto_weights(shuffled(queries, seed), start, group_by, seed),
                DRAWN: auto_weights(drawn(queries, start.soft, seed), start, group_by, seed),
            }
        values = {} if not seeds else {name: seeds[0].values[name] for name in zero_shot(start)}
        values |= {name: quality(splits.test, one) for name, one in systems.items() if name not in values}
        seeds.append(
            SeedResult(
                query_ids=[query.query_id for query in splits.test],
                groups=group(splits.test, group_by).labels,
                apart=are_apart(splits.test, queries),
                values=values,
            )
        )
        reports.append(kept(report, auto))
    return {
        "dataset": collection.name,
        "encoder": {
            "name": Path(encoder).name,
            "model": setup.encoder.model_fingerprint,
            "arithmetic": setup.encoder.arithmetic,
            "device": setup.encoder.device,
        },
        "splits": {name: len(part) for name, part in splits._asdict().items()},
        "seeds": count,
        "seconds": round(time.perf_counter() - began, 1),
        "seconds_learning": seconds,
        **pooled(seeds),
        "reports": reports,
    }


def zero_shot(start: Start) -> dict[str, TokenWeights]:
    """What needs no labels: the default, and the default with one thing changed."""
    mix = start.mix
    return {
        "uniform": start.uniform,
        "idf-soft": start.soft,
        "mix": mix,
        **{f"mix without {name}": mix.with_mix(mix.mix.without(name)) for name in EVIDENCE},
        "mix with pooled": mix.with_mix(replace(mix.mix, pooled=FOR_POOLED_ENCODERS.pooled)),
        "uniform + evidence": start.uniform_mix,
    }


def learnt(auto: TokenWeights) -> dict[str, TokenWeights]:
    """What was learnt, and what is left of it with one thing switched off."""
    return {
        "auto": auto,
        **{f"auto without {name}": auto.with_mix(auto.mix.without(name)) for name in EVIDENCE},
        "auto without adapter": replace(auto, adapter=None),
        "auto, tokens only": auto.with_mix(NOTHING),
    }


def kept(report: LearningReport, weights: TokenWeights) -> dict[str, Any]:
    """The part of a report that tables need."""
    whole = report.as_json()
    return {
        **{name: whole[name] for name in ("queries", "measured_on", "why", "shares")},
        "mix": {name: getattr(weights.mix, name) for name in EVIDENCE},
        "candidates": [
            {name: row[name] for name in ("name", "recipe", "ndcg", "recall")} for row in whole["candidates"]
        ],
    }


def summary(record: dict[str, Any], systems: Sequence[str] = ("idf-soft", "mix", "auto")) -> str:
    """Relative changes to uniform weights in nDCG@10 and Recall@10, on all test queries and on those apart."""
    found = []
    for part in ("all", "apart"):
        measured = record[part]["systems"]
        for name in systems if measured else ():
            own, base = measured[name]["measures"], measured["uniform"]["measures"]
            found.append(f"{part} {name} " + "/".join(f"{100 * (own[one] / base[one] - 1):+.1f}" for one in own))
    return ", ".join(found)


if __name__ == "__main__":
    main()
