"""Quality of learnt weights, from ``results/few-shot``."""

import json
from collections.abc import Sequence
from typing import Any

from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.significance import SIGNIFICANCE, holm
from few_shot import SHUFFLED
from table_means import FEWEST, RESULTS, Record, enough, in_two_blocks, mean_percent, read_records

# README shows these and the mean of all; docs/ has every collection.
BEIR = ("arguana", "climate-fever-sent", "nfcorpus", "scifact")
AUTO, SOFT = "auto", "idf-soft"
NDCG = MAIN_MEASURES[0]
RECIPES = ("uniform", "idf", SOFT, "paper", "prior", "context", AUTO)


def every_collection() -> str:
    """Learnt weights against softened IDF, on all test queries and on those apart."""
    records = _records()
    marks = _marks(records)
    head = [
        "| collection | judged queries | test queries | uniform | softened IDF | learnt | nDCG@10 | R@10 "
        "| test queries apart | nDCG@10 apart | R@10 apart |",
        f"| --- |{' ---: |' * 10}",
    ]

    def row(record: Record) -> list[str]:
        cells = [
            record["dataset"],
            str(record["splits"]["train"] + record["splits"]["validation"]),
            str(record["queries"]),
            *(_value(record, "all", name) for name in ("uniform", SOFT, AUTO)),
            *(_gain(record, "all", measure, marks) for measure in MAIN_MEASURES),
            str(_apart(record)),
            *(_gain(record, "apart", measure, marks) for measure in MAIN_MEASURES),
        ]
        return [f"| {' | '.join(cells)} |"]

    return in_two_blocks(records, head, row)


def short() -> str:
    """The BEIR collections, and the mean over all collections with enough queries."""
    records = _records()
    marks = _marks(records)
    rows = [
        "| collection | uniform | softened IDF | learnt | gain from labels | on new questions |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in records:
        if record["dataset"] in BEIR:
            values = [_value(record, "all", name) for name in ("uniform", SOFT, AUTO)]
            gains = [_gain(record, part, NDCG, marks) for part in ("all", "apart")]
            rows.append(f"| {' | '.join([record['dataset'], *values, *gains])} |")
    if records:
        large = enough(records)
        means = [_mean([record["all"]["systems"][name]["measures"][NDCG] for record in large]) for name in RECIPES]
        values = [f"{means[RECIPES.index(name)]:.3f}" for name in ("uniform", SOFT, AUTO)]
        gains = [f"{_mean(_percents(records, part, NDCG)):+.1f}%" for part in ("all", "apart")]
        rows.append(f"| {' | '.join([f'mean of {len(large)} collections', *values, *gains])} |")
    return "\n".join(rows)


def every_recipe() -> str:
    """Every recipe on every collection, with its spread over seeds."""
    head = [
        f"| collection | train/validation/test | measure | {' | '.join(RECIPES)} |",
        f"| --- | ---: | --- |{' ---: |' * len(RECIPES)}",
    ]

    def rows(record: Record) -> list[str]:
        found = []
        for measure in MAIN_MEASURES:
            first = measure == NDCG
            cells = [record["dataset"] if first else "", "/".join(map(str, record["splits"].values())) if first else ""]
            systems = record["all"]["systems"]
            cells += [measure, *(_with_spread(systems[name], measure) for name in RECIPES)]
            found.append(f"| {' | '.join(cells)} |")
        return found

    return in_two_blocks(_records(), head, rows)


def summary() -> str:
    """What holds over all collections, with intervals; and how often learning makes rankings worse."""
    records = _records()
    sentences = []
    for part, spoken in (("all", "all test queries"), ("apart", "test queries apart")):
        gains = [f"{mean_percent(_percents(records, part, measure))} in {measure}" for measure in MAIN_MEASURES]
        sentences.append(f"- On {spoken}, learnt weights change softened IDF by {' and '.join(gains)}.")
    for name, spoken in ((AUTO, "learnt weights"), (SHUFFLED, "weights learnt from shuffled labels")):
        for part, where in (("all", "all test queries"), ("apart", "test queries apart")):
            runs = [change for record in _enough(records, part) for change in _by_seed(record, part, name)]
            below = sum(change < 0 for change in runs)
            sentences.append(f"- In {below} of {len(runs)} runs, {spoken} are worse than softened IDF on {where}.")
    return "\n".join(sentences) if records else ""


def learning_curve() -> str:
    """Quality against the number of judged queries, a block for each collection."""
    path = RESULTS / "learning-curve.json"
    found = json.loads(path.read_text())["curves"] if path.exists() else {}
    rows = [
        "| collection | judged queries | nDCG@10 | Recall@10 | nDCG@10 gain | range | draws below softened IDF |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, points in found.items():
        for point in points:
            if not point["queries"]:
                rows.append(f"| {name} | 0 | {point['ndcg']:.3f} | {point['recall']:.3f} | | | |")
                continue
            span = f"{point['gain_lowest']:+.3f} to {point['gain_highest']:+.3f}"
            rows.append(
                f"| | {point['queries']} | {point['ndcg']:.3f} | {point['recall']:.3f} | {point['gain']:+.3f} | {span} "
                f"| {point['below']:.0%} |"
            )
    return "\n".join(rows)


def _records() -> list[Record]:
    """The results of every collection; its number of queries is what each seed tests on."""
    found = read_records("few-shot")
    return [{**record, "queries": min(record["all"]["queries_per_seed"])} for record in found]


def _apart(record: Record) -> int:
    """Mean number of test queries apart."""
    return round(_mean(record["apart"]["queries_per_seed"]))


Marks = dict[tuple[str, str, str], str]


def _marks(records: Sequence[Record]) -> Marks:
    """An asterisk for each gain over softened IDF that is significant, after Holm's correction over the table."""
    keys = [
        (record, part, measure)
        for record in records
        for part in ("all", "apart")
        for measure in MAIN_MEASURES
        if record[part]["queries"]
    ]
    corrected = holm([_auto(*key)["p_value"] for key in keys])
    return {
        (record["dataset"], part, measure): "*" if p_value < SIGNIFICANCE else ""
        for (record, part, measure), p_value in zip(keys, corrected, strict=True)
    }


def _auto(record: Record, part: str, measure: str) -> dict[str, Any]:
    found: dict[str, Any] = record[part]["systems"][AUTO]["against_zero_shot"][measure]
    return found


def _gain(record: Record, part: str, measure: str, marks: Marks) -> str:
    """Relative change of softened IDF by learnt weights, with its interval."""
    if not record[part]["queries"]:
        return "none"
    base, found = record[part]["systems"][SOFT]["measures"][measure], _auto(record, part, measure)
    low, high = (100 * end / base for end in found["interval"])
    mark = marks[record["dataset"], part, measure]
    return f"{100 * found['difference'] / base:+.1f}%{mark} ({low:+.1f} to {high:+.1f})"


def _percents(records: Sequence[Record], part: str, measure: str) -> list[float]:
    """Relative changes of softened IDF by learnt weights."""
    return [
        100 * _auto(record, part, measure)["difference"] / record[part]["systems"][SOFT]["measures"][measure]
        for record in _enough(records, part)
    ]


def _enough(records: Sequence[Record], part: str) -> list[Record]:
    """The collections with enough queries in that part."""
    return [record for record in enough(records) if _mean(record[part]["queries_per_seed"]) >= FEWEST]


def _by_seed(record: Record, part: str, name: str) -> list[float]:
    learnt, soft = (record[part]["systems"][one]["by_seed"][NDCG] for one in (name, SOFT))
    return [own - base for own, base in zip(learnt, soft, strict=True)]


def _value(record: Record, part: str, name: str) -> str:
    return f"{record[part]['systems'][name]['measures'][NDCG]:.3f}"


def _with_spread(system: dict[str, Any], measure: str) -> str:
    low, high = min(system["by_seed"][measure]), max(system["by_seed"][measure])
    span = f" ({low:.3f}-{high:.3f})" if high - low >= 0.0005 else ""
    return f"{system['measures'][measure]:.3f}{span}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)
