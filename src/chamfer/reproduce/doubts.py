"""Figures of the paper that cannot be right, or hardly: found by rules in its own tables, not from ours."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args

from chamfer.reproduce.paper import PAPER_MEASURES, SETTINGS, Printed, Setting, is_capped, printed

Column = Literal["chamfer", "zero_shot", "few_shot"]
COLUMNS: tuple[Column, ...] = get_args(Column)

# Figures are printed with four decimals, so a difference of two of them is off by at most this much.
ROUNDING = 1e-4


class Doubt(NamedTuple):
    """Figures that one would not get from the experiment they are printed for."""

    setting: Setting
    dataset: str
    measures: tuple[str, ...]
    columns: tuple[Column, ...]
    """The columns in doubt; with ``chamfer``, every gain of the row is."""
    why: str

    @property
    def sentence(self) -> str:
        """What is in doubt, and why."""
        return f"{self.setting}, {_listed(self.measures)}, {self.dataset}: {self.why}"


@cache
def doubts() -> tuple[Doubt, ...]:
    """List what is in doubt, dataset by dataset, in the order of the tables."""
    return tuple(_doubts())


def is_doubtful(row: Printed, column: str) -> bool:
    """Whether the figure of a column, or its gain over Chamfer, is in doubt."""
    return any(
        (one.setting, one.dataset) == (row.setting, row.dataset)
        and row.measure in one.measures
        and ("chamfer" in one.columns or column in one.columns)
        for one in doubts()
    )


def _doubts() -> Iterator[Doubt]:
    for setting in SETTINGS:
        for dataset in dict.fromkeys(row.dataset for row in printed()):
            rows = _rows(setting, dataset)
            why = _copied(rows, _rows("rerank", dataset))
            if why:
                yield Doubt(setting, dataset, PAPER_MEASURES, COLUMNS, why)
            else:
                yield from _ranks(setting, dataset, rows)
                yield from _like_chamfer(setting, dataset, list(rows.values()))


def _copied(rows: dict[str, Printed], reranked: dict[str, Printed]) -> str:
    """Why all figures of a dataset look like those of another table; empty if they do not."""
    before = [(row.chamfer, row.zero_shot) for row in reranked.values()]
    if rows != reranked and [(row.chamfer, row.zero_shot) for row in rows.values()] == before:
        return "Chamfer and zero-shot equal those of rerank in all measures, though they rank other candidates"
    at_10 = [row for name, row in rows.items() if name.endswith("@10")]
    if all(getattr(row, column) == getattr(rows[f"{row.measure}0"], column) for row in at_10 for column in COLUMNS):
        return "all figures at 10 equal those at 100, so one line is a copy of the other"
    return ""


def _ranks(setting: Setting, dataset: str, rows: dict[str, Printed]) -> Iterator[Doubt]:
    """Reciprocal ranks at 100 that the same ranking cannot have, or hardly, given those at 10, in the main tables.

    With ``h`` the share of queries with a relevant document in the top 10, what ranks 11 to 100 add to RR is at most
    ``(1 - h) / 11``, and ``h`` is at least RR@10 and at least the recall at 10. Few-shot is not tested: the paper may
    have chosen its weights measure by measure.
    """
    for column in COLUMNS[:2]:
        ten, hundred, recall, more = (
            float(getattr(rows[name], column)) for name in ("RR@10", "RR@100", "R@10", "R@100")
        )
        most = ten + (1 - max(ten, recall)) / 11
        if hundred < ten - ROUNDING:
            why = f"{_named(column)} has {hundred:.4f}, less than {ten:.4f} at 10"
        elif hundred > most + ROUNDING:
            why = f"{_named(column)} has {hundred:.4f}, but with {ten:.4f} at 10 it can have at most {most:.4f}"
        elif hundred == ten and more > recall and not is_capped(dataset):
            why = (
                f"{_named(column)} has {ten:.4f} as at 10, as if no first relevant document had a rank from 11 to 100, "
                f"but its recall rises from {recall:.4f} to {more:.4f}"
            )
        else:
            continue
        yield Doubt(setting, dataset, ("RR@100",), (column,), why)


def _like_chamfer(setting: Setting, dataset: str, rows: Sequence[Printed]) -> Iterator[Doubt]:
    """Weights that change some measures and leave others as they are to the last digit, or change none."""
    for column in COLUMNS[1:]:
        same = tuple(row.measure for row in rows if getattr(row, column) == row.chamfer)
        if not same:
            continue
        why = f"{_named(column)} equals Chamfer to the last digit"
        if len(same) < len(rows):
            why += ", though other measures move"
        if column == "few_shot":
            why += "; it should be IDF or learnt weights, and uniform weights are neither"
        yield Doubt(setting, dataset, same, (column,), why)


def _rows(setting: Setting, dataset: str) -> dict[str, Printed]:
    return {row.measure: row for row in printed() if (row.setting, row.dataset) == (setting, dataset)}


def _named(column: Column) -> str:
    return {"chamfer": "Chamfer", "zero_shot": "zero-shot", "few_shot": "few-shot"}[column]


def _listed(measures: Sequence[str]) -> str:
    return "all measures" if len(measures) == len(PAPER_MEASURES) else ", ".join(measures)
