"""Quality of learnt weights, from ``results/few-shot`` and folders of the same layout for other encoders and data."""

import json
from collections.abc import Sequence
from typing import Any

from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.significance import SIGNIFICANCE, holm
from few_shot import DRAWN, SHUFFLED
from seeds import BASELINES
from table_means import FEWEST, RESULTS, Record, enough, in_two_blocks, mean_percent, read_records

MINILM, LATE = "few-shot", "late-interaction/few-shot"
FRESH_MINILM, FRESH_LATE = "fresh/minilm", "fresh/late-interaction"

# README shows these and the mean of all; docs/ has every collection.
BEIR = ("arguana", "climate-fever-sent", "nfcorpus", "scifact")
UNIFORM, IDF, SOFT, AUTO = "uniform", "idf", "idf-soft", "auto"
NDCG = MAIN_MEASURES[0]
RECIPES = (UNIFORM, IDF, SOFT, "paper", "prior", "context", AUTO)
AGAINST_UNIFORM, AGAINST_SOFT = BASELINES
PARTS = {"all": "all test queries", "apart": "test queries apart"}

Column = tuple[str, str, str]
"""Part of the test queries, system, measure."""
Marks = dict[tuple[str, str, str, str], str]
"""Marks by collection and column."""

LEARNT: list[Column] = [(part, AUTO, measure) for part in PARTS for measure in MAIN_MEASURES]


def every_collection(benchmark: str) -> str:
    """Learnt weights against softened IDF, on all test queries and on those apart."""
    records = _records(benchmark)
    marks = _marks(records, LEARNT, AGAINST_SOFT)
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
            *(_value(record, "all", name) for name in (UNIFORM, SOFT, AUTO)),
            *(_change(record, ("all", AUTO, measure), AGAINST_SOFT, marks) for measure in MAIN_MEASURES),
            str(record["apart"]["queries"]),
            *(_change(record, ("apart", AUTO, measure), AGAINST_SOFT, marks) for measure in MAIN_MEASURES),
        ]
        return [f"| {' | '.join(cells)} |"]

    return in_two_blocks(records, head, row)


def without_labels(benchmark: str) -> str:
    """IDF and softened IDF against uniform weights, on all test queries."""
    records = _records(benchmark)
    columns = [("all", name, measure) for name in (IDF, SOFT) for measure in MAIN_MEASURES]
    marks = _marks(records, columns, AGAINST_UNIFORM)
    head = [
        "| collection | test queries | uniform | IDF, nDCG@10 | IDF, R@10 | softened IDF, nDCG@10 | softened IDF, R@10 "
        "|",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]

    def row(record: Record) -> list[str]:
        changes = [_change(record, column, AGAINST_UNIFORM, marks) for column in columns]
        cells = [record["dataset"], str(record["queries"]), _value(record, "all", UNIFORM), *changes]
        return [f"| {' | '.join(cells)} |"]

    return in_two_blocks(records, head, row)


def short() -> str:
    """The BEIR collections, and the mean over all collections with enough queries."""
    records = _records(MINILM)
    marks = _marks(records, LEARNT, AGAINST_SOFT)
    rows = [
        "| collection | uniform | softened IDF | learnt | gain from labels | on new questions |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in records:
        if record["dataset"] in BEIR:
            values = [_value(record, "all", name) for name in (UNIFORM, SOFT, AUTO)]
            gains = [_change(record, (part, AUTO, NDCG), AGAINST_SOFT, marks) for part in PARTS]
            rows.append(f"| {' | '.join([record['dataset'], *values, *gains])} |")
    both = _enough(records, "apart")
    if both:
        values = [
            f"{_mean([record['all']['systems'][name]['measures'][NDCG] for record in both]):.3f}"
            for name in (UNIFORM, SOFT, AUTO)
        ]
        gains = [mean_percent(_percents(both, part, AUTO, NDCG), digits=1) for part in PARTS]
        rows.append(f"| {' | '.join([f'mean of {len(both)} collections', *values, *gains])} |")
    return "\n".join(rows)


def every_recipe(benchmark: str) -> str:
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

    return in_two_blocks(_records(benchmark), head, rows)


def recipe_means(benchmark: str) -> str:
    """The mean change of each recipe against uniform weights and against softened IDF, with intervals."""
    records = _records(benchmark)
    rows = [
        "| weights | measure | vs uniform | vs softened IDF | vs softened IDF, queries apart |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for name in (IDF, SOFT, "paper", "prior", "context", AUTO):
        for measure in MAIN_MEASURES:
            changes = [
                _percents(_enough(records, part), part, name, measure, baseline)
                for part, baseline in (("all", AGAINST_UNIFORM), ("all", AGAINST_SOFT), ("apart", AGAINST_SOFT))
            ]
            cells = [mean_percent(own) if name != SOFT or at == 0 else "" for at, own in enumerate(changes)]
            rows.append(f"| {name if measure == NDCG else ''} | {measure} | {' | '.join(cells)} |")
    return "\n".join(rows)


def summary(benchmark: str) -> str:
    """What labels and false labels change over all collections, with intervals."""
    records = _records(benchmark)
    if not records:
        return "Not measured yet."
    rows = [
        "| learnt from | test queries | collections | better / worse | nDCG@10 | R@10 |",
        f"| --- | --- |{' ---: |' * 4}",
    ]
    for name, spoken in ((AUTO, "labels"), (SHUFFLED, "shuffled labels"), (DRAWN, "labels drawn by softened IDF")):
        for part, where in PARTS.items():
            own = _enough(records, part)
            changes = [_percents(own, part, name, measure) for measure in MAIN_MEASURES]
            counts = f"{sum(one > 0 for one in changes[0])} / {sum(one < 0 for one in changes[0])}"
            cells = [spoken, where, str(len(own)), counts, *map(mean_percent, changes)]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def where_it_comes_from() -> str:
    """What each recipe adds to softened IDF on new questions, in a sentence for README."""
    records = _enough(_records(MINILM), "apart")
    paper, prior, context = (
        mean_percent(_percents(records, "apart", name, NDCG), digits=1) for name in ("paper", "prior", "context")
    )
    return (
        f"Where it comes from, on new questions: relative to softened IDF, the paper's own recipe changes nDCG@10 by "
        f"{paper}, our one weight per token by {prior}, and weights that also depend on a token's context by {context}."
    )


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


def _records(benchmark: str) -> list[Record]:
    """The results of every collection."""
    return [{**record, "queries": record["all"]["queries"]} for record in read_records(benchmark)]


def _marks(records: Sequence[Record], columns: Sequence[Column], baseline: str) -> Marks:
    """An asterisk for each significant change of a baseline, after Holm's correction over the table."""
    keys = [(record, column) for record in records for column in columns if record[column[0]]["queries"]]
    corrected = holm([_against(record, *column, baseline)["p_value"] for record, column in keys])
    return {
        (record["dataset"], *column): "*" if p_value < SIGNIFICANCE else ""
        for (record, column), p_value in zip(keys, corrected, strict=True)
    }


def _change(record: Record, column: Column, baseline: str, marks: Marks) -> str:
    """Relative change of a baseline, with its mark and its interval; "none" where there are no queries."""
    part, _, measure = column
    if not record[part]["queries"]:
        return "none"
    found = _against(record, *column, baseline)
    base = record[part]["systems"][BASELINES[baseline]]["measures"][measure]
    low, high = (100 * end / base for end in found["interval"])
    return f"{100 * found['difference'] / base:+.1f}%{marks[record['dataset'], *column]} ({low:+.1f} to {high:+.1f})"


def _against(record: Record, part: str, name: str, measure: str, baseline: str) -> dict[str, Any]:
    found: dict[str, Any] = record[part]["systems"][name][baseline][measure]
    return found


def _percents(
    records: Sequence[Record], part: str, name: str, measure: str, baseline: str = AGAINST_SOFT
) -> list[float]:
    """Relative changes of a baseline by some weights."""
    return [
        100
        * _against(record, part, name, measure, baseline)["difference"]
        / record[part]["systems"][BASELINES[baseline]]["measures"][measure]
        for record in records
    ]


def _enough(records: Sequence[Record], part: str) -> list[Record]:
    """The collections with enough queries in that part."""
    return [record for record in enough(records) if record[part]["queries"] >= FEWEST]


def _value(record: Record, part: str, name: str) -> str:
    return f"{record[part]['systems'][name]['measures'][NDCG]:.3f}"


def _with_spread(system: dict[str, Any], measure: str) -> str:
    low, high = min(system["by_seed"][measure]), max(system["by_seed"][measure])
    span = f" ({low:.3f}-{high:.3f})" if high - low >= 0.0005 else ""
    return f"{system['measures'][measure]:.3f}{span}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)
