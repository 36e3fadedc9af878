"""Evidence beside the tokens and learnt weights on whole judged collections, measured on test queries.

Everything that is drawn to learn from is drawn with several seeds: the samples of the largest collections, validation
queries, folds, false labels. What is tested is the same for all seeds. Writes ``COLLECTION.json`` into ``--out``.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import campaign
from campaign import RESULTS, Record
from chamfer import TokenWeights
from chamfer.evaluate.groups import are_apart, group
from chamfer.learn.auto import fit_auto
from chamfer.learn.fit import fit_weights
from chamfer.learn.folds import folds_if_possible
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.presets import PAPER
from chamfer.learn.quality import quality
from chamfer.learn.registry import blended_recipes, configurations_of
from chamfer.learn.report import LearningReport
from chamfer.learn.start import Start
from chamfer.reproduce.separator import with_separator_idf
from chamfer.weights.mix import EVIDENCE, FOR_POOLED_ENCODERS, NOTHING
from corpora import described
from false_labels import drawn, shuffled
from judged_splits import open_collection, read_splits
from seeds import SeedResult, pooled

SEEDS = 5
SHUFFLED, DRAWN = "auto on shuffled labels", "auto on labels drawn by idf-soft"


def main() -> None:
    """Measure every collection with every seed."""
    parser = campaign.options(__doc__, out=RESULTS / "learning" / "minilm")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of divisions to learn from")
    arguments = parser.parse_args()
    measured = partial(measure_seed, encoder=arguments.encoder, cache=arguments.cache)
    campaign.measure_in_parts(arguments, arguments.seeds, measured, pool, summary)


def measure_seed(folder: Path, seed: int, *, encoder: str, cache: Path) -> Record:
    """Learn with one seed, and measure on test queries; the first seed also measures what needs no labels."""
    clock = Clock()
    setup, group_by = open_collection(folder, cache, encoder)
    splits, repeated = read_splits(setup, group_by, seed)
    queries = [*splits.train, *splits.validation]
    start = starting_weights(setup, learnt_from=len(queries))
    clock.stop("preparing")
    auto, report = fit_weights(queries, start, group_by=group_by, seed=seed)
    clock.stop("learning")
    systems = {**(without_labels(start) if not seed else {}), **learnt(auto)}
    theirs = with_separator_idf(start, setup.frequencies)
    systems[PAPER] = fit_weights(splits.train, theirs, recipe=PAPER, validation=splits.validation, seed=seed).weights
    for recipe in ("prior", "context"):
        systems[recipe] = fit_weights(queries, start, recipe=recipe, group_by=group_by, seed=seed).weights
    clock.stop("recipes")
    systems[SHUFFLED] = auto_weights(shuffled(queries, seed), start, group_by, seed)
    systems[DRAWN] = auto_weights(drawn(queries, start.soft, seed), start, group_by, seed)
    clock.stop("controls")
    result = SeedResult(
        query_ids=[query.query_id for query in splits.test],
        groups=group(splits.test, group_by).labels,
        apart=are_apart(splits.test, queries),
        values={name: quality(splits.test, weights) for name, weights in systems.items()},
    )
    clock.stop("measuring")
    return {
        "dataset": setup.collection.name,
        "encoder": described(setup.encoder, encoder),
        "splits": {name: len(part) for name, part in splits._asdict().items()},
        "seed": seed,
        "seconds": clock.seconds(),
        "report": {**kept(report, auto), "repeated": repeated},
        "result": result.as_json(),
    }


def without_labels(start: Start) -> dict[str, TokenWeights]:
    """What needs no labels: simple weights, the default, and the default with one thing changed."""
    mix = start.mix
    return {
        "uniform": start.uniform,
        "idf": start.idf,
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


def auto_weights(queries: Sequence[JudgedQuery], start: Start, group_by: str, seed: int) -> TokenWeights:
    """Weights learnt by ``auto``, without its report, which takes most of the time."""
    divided = partial(folds_if_possible, group_by=group_by, seed=seed)
    groups, chosen = group(queries, group_by).labels, configurations_of(blended_recipes(queries))
    return fit_auto(queries, start, chosen, divided, groups, measure=False).weights


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


def pool(seeds: Sequence[Record]) -> Record:
    """The record of a collection from those of its seeds; what needs no labels is the same with each."""
    results = [SeedResult.from_json(one["result"]) for one in seeds]
    return {
        **{name: seeds[0][name] for name in ("dataset", "encoder", "splits")},
        "seeds": len(seeds),
        **{f"seconds_{phase}": [one["seconds"][phase] for one in seeds] for phase in seeds[0]["seconds"]},
        **pooled([one._replace(values={**results[0].values, **one.values}) for one in results]),
        "reports": [one["report"] for one in seeds],
    }


def summary(record: Record, systems: Sequence[str] = ("idf-soft", "mix", "auto")) -> str:
    """Relative changes to uniform weights in nDCG@10 and Recall@10, on all test queries and on those apart."""
    found = []
    for part in ("all", "apart"):
        measured = record[part]["systems"]
        for name in systems if measured else ():
            own, base = measured[name]["measures"], measured["uniform"]["measures"]
            changes = (f"{100 * (own[one] / base[one] - 1):+.1f}" if base[one] else "?" for one in own)
            found.append(f"{part} {name} {'/'.join(changes)}")
    return ", ".join(found)


class Clock:
    """Seconds of phases that follow each other."""

    def __init__(self) -> None:
        self._times = [time.perf_counter()]
        self._phases: list[str] = []

    def stop(self, phase: str) -> None:
        """End a phase; the next one begins."""
        self._phases.append(phase)
        self._times.append(time.perf_counter())

    def seconds(self) -> dict[str, float]:
        """Seconds of each phase, and of all."""
        lasted = [round(after - before, 1) for before, after in zip(self._times, self._times[1:], strict=False)]
        return {**dict(zip(self._phases, lasted, strict=True)), "all": round(self._times[-1] - self._times[0], 1)}


if __name__ == "__main__":
    main()
