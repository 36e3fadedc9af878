"""The paper's four tables, and where their arithmetic is inconsistent."""

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, get_args

Setting = Literal["rerank", "end-to-end"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)
# R is recall, RR is reciprocal rank.
PAPER_MEASURES = ("R@10", "RR@10", "nDCG@10", "R@100", "RR@100", "nDCG@100")
ENCODER = "colbert-ir/colbertv2.0"
"""The paper's encoder."""
DEPTH = 1000
"""Candidates per query in the paper's experiments."""
MOST_QUERIES = 1000
"""Queries of a split to learn from, at most."""
# Recall divided by the smaller of k and the number of relevant documents.
CAPPED = "Rcap"
ALL_MEASURES = (*PAPER_MEASURES, f"{CAPPED}@10", f"{CAPPED}@100")
# Percentages are printed with two decimals.
ROUNDING = 0.011


class Printed(NamedTuple):
    """One row of a table: one dataset."""

    setting: Setting
    measure: str
    group: str
    dataset: str
    chamfer: float
    zero_shot: float
    few_shot: float
    percent: float
    """Gain over Chamfer, as printed."""

    @property
    def gain(self) -> float:
        """Gain of few-shot over Chamfer in percent, computed from the printed values."""
        return 100 * (self.few_shot / self.chamfer - 1)


class PrintedAverage(NamedTuple):
    """A printed mean gain: of a task group or, with an empty name, of all datasets."""

    setting: Setting
    measure: str
    group: str
    percent: float


@cache
def printed() -> tuple[Printed, ...]:
    """All rows of all tables."""
    return tuple(
        Printed(_setting(setting), measure, group, dataset, *map(float, figures))
        for setting, measure, group, dataset, *figures in _lines()
        if dataset
    )


@cache
def printed_averages() -> tuple[PrintedAverage, ...]:
    """All means of all tables."""
    return tuple(
        PrintedAverage(_setting(setting), measure, group, float(percent))
        for setting, measure, group, dataset, _, _, _, percent in _lines()
        if not dataset
    )


def printed_for(setting: Setting, measure: str, dataset: str) -> Printed | None:
    """The row of a dataset, if the paper has this measure for it; its recall is capped for some datasets."""
    if measure.startswith(("R@", CAPPED)) and measure.startswith(CAPPED) is not is_capped(dataset):
        return None
    return _row(setting, measure.replace(CAPPED, "R"), dataset)


@cache
def is_capped(dataset: str) -> bool:
    """Whether the printed recall of a dataset is capped: plain R@100 cannot be below R@10."""
    rows = [(_row(setting, "R@10", dataset), _row(setting, "R@100", dataset)) for setting in SETTINGS]
    return any(ten and hundred and hundred.chamfer < ten.chamfer for ten, hundred in rows)


class Disagreement(NamedTuple):
    """A printed percentage that does not follow from the printed values."""

    setting: Setting
    about: str
    """Dataset of a row, or group of a mean; empty for the mean of all datasets."""
    sentence: str


def disagreements() -> Iterator[Disagreement]:
    """List the percentages in the paper that do not follow from its values."""
    for row in printed():
        if abs(row.gain - row.percent) <= ROUNDING:
            continue
        best = 100 * (max(row.zero_shot, row.few_shot) / row.chamfer - 1)
        why = "the gain of zero-shot" if abs(best - row.percent) <= ROUNDING else "a wrong sign or a typo"
        yield Disagreement(
            row.setting,
            row.dataset,
            f"{row.setting}, {row.measure}, {row.dataset}: printed {row.percent:+.2f}%, but {row.chamfer:.4f} and "
            f"{row.few_shot:.4f} give {row.gain:+.2f}% ({why})",
        )
    for average in printed_averages():
        gains = [row.percent for row in printed() if row[:2] == average[:2] and average.group in ("", row.group)]
        mean = sum(gains) / len(gains)
        if abs(mean - average.percent) > ROUNDING:
            yield Disagreement(
                average.setting,
                average.group,
                f"{average.setting}, {average.measure}, mean of {average.group or 'all datasets'}: printed "
                f"{average.percent:+.2f}%, but its rows give {mean:+.2f}%",
            )


def _row(setting: Setting, measure: str, dataset: str) -> Printed | None:
    return next((row for row in printed() if row[:2] == (setting, measure) and row.dataset == dataset), None)


def _setting(name: str) -> Setting:
    return next(setting for setting in SETTINGS if setting == name)


def _lines() -> Iterator[list[str]]:
    lines = csv.reader((files("chamfer.reproduce") / "paper.csv").read_text(encoding="utf-8").splitlines())
    next(lines)  # header
    return lines
