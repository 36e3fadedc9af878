"""Our results beside the paper's: rows, mean gains, and which gains are beyond noise."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from chamfer.evaluate.significance import SIGNIFICANCE, holm
from chamfer.reproduce.datasets import DATASETS
from chamfer.reproduce.paper import (
    CAPPED,
    ENCODER,
    Disagreement,
    Printed,
    Setting,
    disagreements,
    is_capped,
    printed_averages,
    printed_for,
)
from chamfer.reproduce.systems import CHAMFER, PAPER_COLUMNS, SYSTEMS
from chamfer.retrieve.stages import BM25


class Cell(NamedTuple):
    """One system on one dataset."""

    value: float
    gain: float
    """Gain over Chamfer, in percent."""
    interval: tuple[float, float]
    """95% bootstrap interval of the difference from Chamfer."""
    p_value: float
    """p-value of the difference from Chamfer, with Holm's correction over the table."""
    printed: float | None
    """The paper's value."""

    @property
    def beyond_noise(self) -> bool:
        """Whether the difference from Chamfer is significant."""
        return self.p_value < SIGNIFICANCE


class Line(NamedTuple):
    """One row of a table: one dataset."""

    dataset: str
    group: str
    queries: int
    bm25: float | None
    """BM25's value, where it is the first stage."""
    cells: dict[str, Cell]
    printed: Printed | None


class Mean(NamedTuple):
    """Mean gain over Chamfer by system, in percent, and the paper's mean few-shot gain on the same datasets."""

    name: str
    gains: dict[str, float]
    printed: float | None


class Report(NamedTuple):
    """The table of one measure in one setting."""

    setting: Setting
    measure: str
    lines: list[Line]
    means: list[Mean]

    def as_json(self) -> dict[str, Any]:
        """Return the table, ready for ``json.dumps``."""
        return {
            "setting": self.setting,
            "measure": self.measure,
            "rows": [
                {
                    "dataset": line.dataset,
                    "group": line.group,
                    "queries": line.queries,
                    "bm25": line.bm25,
                    "systems": {
                        name: {
                            **cell._asdict(),
                            "beyond_noise": cell.beyond_noise,
                            "ours_minus_papers": None if cell.printed is None else cell.value - cell.printed,
                        }
                        for name, cell in line.cells.items()
                    },
                }
                for line in self.lines
            ],
            "means": [mean._asdict() for mean in self.means],
        }


def report(results: Sequence[dict[str, Any]], setting: Setting, measure: str) -> Report:
    """Make the table of one measure in one setting from the results of a run."""
    own = [one for one in results if one["setting"] == setting]
    weighted = [name for name in SYSTEMS if name != CHAMFER]
    p_values = [one["systems"][name]["against_chamfer"][measure]["p_value"] for one in own for name in weighted]
    corrected = iter(holm(p_values))
    lines = []
    for one in own:
        published = printed_for(setting, measure, one["dataset"])
        p_of = {CHAMFER: 1.0, **{name: next(corrected) for name in weighted}}
        chamfer = one["systems"][CHAMFER]["measures"][measure]
        cells = {}
        for name in SYSTEMS:
            value = one["systems"][name]["measures"][measure]
            gain = 100 * (value / chamfer - 1) if chamfer else 0.0
            theirs = getattr(published, PAPER_COLUMNS[name]) if published and name in PAPER_COLUMNS else None
            low, high = one["systems"][name]["against_chamfer"][measure]["interval"]
            cells[name] = Cell(value, gain, (low, high), p_of[name], theirs)
        bm25 = one["systems"][BM25]["measures"][measure] if BM25 in one["systems"] else None
        lines.append(Line(one["dataset"], one["group"], one["queries"]["test"], bm25, cells, published))
    return Report(setting, measure, lines, _means(lines, setting, measure))


def notes(results: Sequence[dict[str, Any]]) -> list[str]:
    """Notes that readers of the tables need."""
    names = sorted({one["encoder"]["name"] for one in results})
    capped = ", ".join(one.name for one in DATASETS if is_capped(one.name))
    return [
        f"Encoder: {', '.join(names)}; the paper's is {ENCODER}.",
        f"Bold: significantly better than Chamfer (paired randomisation test, p < {SIGNIFICANCE:g}, "
        "Holm's correction per table).",
        f"R@k is plain recall; {CAPPED}@k divides by the smaller of k and the number of relevant documents. The "
        f"paper's recall on {capped} is capped (it falls from k = 10 to k = 100), so it is listed under {CAPPED}@k.",
        "Means are of the gains over Chamfer in percent, as in the paper.",
        "The paper does not list its queries and used fewer on some datasets; see docs/guides/reproduce.md.",
        *(f"Inconsistent in the paper: {one.sentence}." for one in disagreements() if _is_about(one, results)),
    ]


def _is_about(disagreement: Disagreement, results: Sequence[dict[str, Any]]) -> bool:
    """Whether a row or mean of the paper appears beside our results."""
    groups = {one["group"] for one in results if one["group"] and one["setting"] == disagreement.setting}
    shown = {one["dataset"] for one in results if one["setting"] == disagreement.setting}
    return disagreement.about in shown or disagreement.about in groups or (disagreement.about == "" and bool(groups))


def _means(lines: Sequence[Line], setting: Setting, measure: str) -> list[Mean]:
    groups = [group for group in dict.fromkeys(line.group for line in lines) if group]
    means = [_mean(group, [line for line in lines if line.group == group], setting, measure) for group in groups]
    return [*means, _mean("", lines, setting, measure)] if lines else []


def _mean(group: str, lines: Sequence[Line], setting: Setting, measure: str) -> Mean:
    gains = {name: sum(line.cells[name].gain for line in lines) / len(lines) for name in SYSTEMS if name != CHAMFER}
    # A mean over other datasets would not be comparable.
    same = {line.dataset for line in lines} == {one.name for one in DATASETS if group in ("", one.group)}
    theirs = next((one.percent for one in printed_averages() if one[:3] == (setting, measure, group)), None)
    return Mean(group or "all", gains, theirs if same else None)
