"""What tables of results pooled over seeds share, in the layout of ``seeds.pooled``: parts, columns, marks, changes."""

from collections.abc import Sequence
from typing import Any

from chamfer.evaluate.collection_means import FEWEST
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.significance import SIGNIFICANCE, holm
from seeds import BASELINES
from table_means import Record, enough, read_records

UNIFORM, SOFT, MIX, AUTO = (*BASELINES.values(), "auto")
AGAINST_UNIFORM, AGAINST_SOFT, AGAINST_MIX = BASELINES
NDCG = MAIN_MEASURES[0]
SHARING = "sharing"
PARTS = {"all": "all test queries", "apart": "test queries apart"}

# README shows these and the mean of all; docs/ has every collection.
BEIR = ("arguana", "climate-fever-sent", "nfcorpus", "scifact")

# With fewer groups of queries, a bootstrap interval is too narrow.
FEWEST_GROUPS = 20

Column = tuple[str, str, str]
"""Part of the test queries, system, measure."""
Marks = dict[tuple[str, str, str, str], str]
"""Marks by collection and column."""

LEARNT: list[Column] = [(part, AUTO, measure) for part in PARTS for measure in MAIN_MEASURES]


def records_of(benchmark: str) -> list[Record]:
    """The results of every collection."""
    return [{**record, "queries": record["all"]["queries"]} for record in read_records(benchmark)]


def marks_of(records: Sequence[Record], columns: Sequence[Column], baseline: str) -> Marks:
    """An asterisk for each significant change of a baseline, after Holm's correction over the table."""
    keys = [(record, column) for record in records for column in columns if record[column[0]]["queries"]]
    corrected = holm([against(record, *column, baseline)["p_value"] for record, column in keys])
    return {
        (record["dataset"], *column): "*" if p_value < SIGNIFICANCE else ""
        for (record, column), p_value in zip(keys, corrected, strict=True)
    }


def change(record: Record, column: Column, baseline: str, marks: Marks) -> str:
    """Relative change of a baseline, with its mark and its interval; "none" without queries, or if all values are 0."""
    part, _, measure = column
    if not record[part]["queries"]:
        return "none"
    found = against(record, *column, baseline)
    base = record[part]["systems"][BASELINES[baseline]]["measures"][measure]
    if base == 0:
        return "none"
    shown = f"{100 * found['difference'] / base:+.1f}%{marks[record['dataset'], *column]}"
    if record[part]["groups"] < FEWEST_GROUPS:
        return f"{shown} (too few)"
    ends = found["relative_interval"]
    return f"{shown} ({100 * ends[0]:+.1f} to {100 * ends[1]:+.1f})"


def against(record: Record, part: str, name: str, measure: str, baseline: str) -> dict[str, Any]:
    """A system compared with a baseline."""
    found: dict[str, Any] = record[part]["systems"][name][baseline][measure]
    return found


def percents(records: Sequence[Record], part: str, name: str, measure: str, baseline: str) -> list[float]:
    """Relative changes of the mean of one system by another."""
    systems = [record[part]["systems"] for record in records]
    return [100 * (one[name]["measures"][measure] / one[baseline]["measures"][measure] - 1) for one in systems]


def runs_below(records: Sequence[Record], part: str, name: str, baseline: str) -> str:
    """How many runs, one for each seed and collection of any size, are below a baseline in nDCG@10."""
    systems = [record[part]["systems"] for record in records if record[part]["queries"]]
    pairs = [
        pair for one in systems for pair in zip(*(one[own]["by_seed"][NDCG] for own in (name, baseline)), strict=True)
    ]
    return f"{sum(value < base for value, base in pairs)} of {len(pairs)}"


def enough_in(records: Sequence[Record], part: str) -> list[Record]:
    """The collections with enough queries in that part."""
    return [record for record in enough(records) if record[part]["queries"] >= FEWEST]


def value(record: Record, part: str, name: str) -> str:
    """nDCG@10 of a system."""
    return f"{record[part]['systems'][name]['measures'][NDCG]:.3f}"


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of nothing."""
    return sum(values) / max(len(values), 1)
