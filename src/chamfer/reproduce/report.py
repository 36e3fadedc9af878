"""Our results beside the paper's: rows, mean gains, and which gains are beyond noise."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chamfer.evaluate.collection_means import FEWEST, mean_interval
from chamfer.evaluate.groups import DOCUMENT, TEXT
from chamfer.evaluate.significance import SIGNIFICANCE, holm
from chamfer.reproduce.datasets import DATASETS
from chamfer.reproduce.doubts import doubts, is_doubtful
from chamfer.reproduce.paper import (
    CAPPED,
    ENCODER,
    Disagreement,
    Printed,
    Setting,
    disagreements,
    is_capped,
    printed_for,
)
from chamfer.reproduce.systems import APART, CHAMFER, OWN_KEPT, PAPER_COLUMNS, SYSTEMS
from chamfer.retrieve.stages import BM25

ALL = "all"
"""Name of the mean over all collections."""


class Cell(NamedTuple):
    """One system on one dataset."""

    value: float
    gain: float
    """Gain over Chamfer, in percent."""
    interval: tuple[float, float]
    """95% bootstrap interval of the difference from Chamfer."""
    p_value: float
    """p-value of the difference from Chamfer, with Holm's correction over all rows of the table."""
    printed: float | None
    """The paper's value."""
    doubtful: bool
    """Whether the paper's value, or its gain over Chamfer, is in doubt; see :mod:`chamfer.reproduce.doubts`."""

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


class Comparison(NamedTuple):
    """Mean gains over the rows that both we and the paper have, without those that are in doubt."""

    ours: float
    papers: float
    """Computed from the paper's values, because its printed means do not always follow from them."""
    rows: int


class Mean(NamedTuple):
    """Mean gain over Chamfer by system, in percent, and the same beside the paper's.

    Collections with fewer than :data:`~chamfer.evaluate.collection_means.FEWEST` test queries are left out.
    """

    name: str
    collections: int
    gains: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    """95% t-intervals of the gains over collections; empty for a single one."""
    compared: dict[str, Comparison]
    """For systems that the paper has too, where at least two rows can be compared."""


class Report(NamedTuple):
    """The table of one measure in one setting."""

    setting: Setting
    measure: str
    lines: list[Line]
    means: list[Mean]
    own_kept: list[Line]
    """Datasets again, with each query's own document among its candidates; not part of the means."""

    @property
    def systems(self) -> list[str]:
        """The systems that every row has."""
        return list(self.lines[0].cells) if self.lines else list(SYSTEMS)

    def as_json(self) -> dict[str, Any]:
        """Return the table, ready for ``json.dumps``."""
        return {
            "setting": self.setting,
            "measure": self.measure,
            "rows": [_line_json(line) for line in self.lines],
            OWN_KEPT: [_line_json(line) for line in self.own_kept],
            "means": [
                {**mean._asdict(), "compared": {name: one._asdict() for name, one in mean.compared.items()}}
                for mean in self.means
            ],
        }


def report(results: Sequence[dict[str, Any]], setting: Setting, measure: str) -> Report:
    """Make the table of one measure in one setting from the results of a run."""
    own = [one for one in results if one["setting"] == setting]
    shown = [(one, one["systems"]) for one in own]
    kept = [(one, one[OWN_KEPT]) for one in own if one.get(OWN_KEPT)]
    lines = _lines([*shown, *kept], measure)  # one table, and so one family for Holm's correction
    return Report(setting, measure, lines[: len(own)], _means(lines[: len(own)]), lines[len(own) :])


def results_apart(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same results on test queries that share nothing with those learnt from, where these are enough for a mean.

    Results of earlier versions do not have them.
    """
    return [
        {**one, "systems": own["systems"], "queries": {**one["queries"], "test": own["queries"]}, OWN_KEPT: {}}
        for one in results
        if (own := one.get(APART)) and own["queries"] >= FEWEST
    ]


def _lines(results: Sequence[tuple[dict[str, Any], Mapping[str, Any]]], measure: str) -> list[Line]:
    """The rows of a table: results, and the figures of the systems to show."""
    # Results of earlier versions lack some systems.
    shown = [name for name in SYSTEMS if all(name in systems for _, systems in results)]
    weighted = [name for name in shown if name != CHAMFER]
    p_values = [systems[name]["against_chamfer"][measure]["p_value"] for _, systems in results for name in weighted]
    corrected = iter(holm(p_values))
    lines = []
    for one, systems in results:
        published = printed_for(one["setting"], measure, one["dataset"])
        p_of = {CHAMFER: 1.0, **{name: next(corrected) for name in weighted}}
        chamfer = systems[CHAMFER]["measures"][measure]
        cells = {}
        for name in shown:
            value = systems[name]["measures"][measure]
            gain = 100 * (value / chamfer - 1) if chamfer else 0.0
            low, high = systems[name]["against_chamfer"][measure]["interval"]
            theirs, doubtful = None, False
            if published and name in PAPER_COLUMNS:
                theirs = getattr(published, PAPER_COLUMNS[name])
                doubtful = is_doubtful(published, PAPER_COLUMNS[name])
            cells[name] = Cell(value, gain, (low, high), p_of[name], theirs, doubtful)
        bm25 = systems[BM25]["measures"][measure] if BM25 in systems else None
        lines.append(Line(one["dataset"], one["group"], one["queries"]["test"], bm25, cells, published))
    return lines


def _line_json(line: Line) -> dict[str, Any]:
    return {
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


def notes(results: Sequence[dict[str, Any]]) -> list[str]:
    """Notes that readers of the tables need."""
    names = sorted({one["encoder"]["name"] for one in results})
    capped = ", ".join(one.name for one in DATASETS if is_capped(one.name))
    kept = [
        f"The queries of {name} are documents, too. A query's own document is left out of its candidates, as is usual, "
        "and kept in the second row, as the paper probably did; means are over the first."
        for name in dict.fromkeys(one["dataset"] for one in results if one.get(OWN_KEPT))
    ]
    return [
        f"Encoder: {', '.join(names)}; the paper's is {ENCODER}.",
        f"Bold: significantly better than Chamfer (paired randomisation test, p < {SIGNIFICANCE:g}, "
        "Holm's correction per table).",
        f"R@k is plain recall; {CAPPED}@k divides by the smaller of k and the number of relevant documents. The "
        f"paper's recall on {capped} is capped (it falls from k = 10 to k = 100), so it is listed under {CAPPED}@k.",
        *_units(results),
        "Means are of the gains over Chamfer in percent, as in the paper, over collections with at least "
        f"{FEWEST} test queries; the mean of all has a 95% t-interval over collections.",
        "Means that stand beside the paper's are over the rows that both have, without those in doubt (marked ?); the "
        "paper's are computed from its values.",
        "The paper does not list its queries and used fewer on some datasets; see docs/guides/reproduce.md.",
        *kept,
        *(f"Inconsistent in the paper: {one.sentence}." for one in disagreements() if _is_about(one, results)),
        *(
            f"In doubt in the paper: {doubt.sentence}."
            for doubt in doubts()
            if any((one["setting"], one["dataset"]) == (doubt.setting, doubt.dataset) for one in results)
        ),
    ]


def _units(results: Sequence[dict[str, Any]]) -> list[str]:
    """What tests and intervals treat as one unit; results of earlier versions do not say it."""
    if not all("resampled" in one for one in results):
        return []
    units: dict[str, dict[str, None]] = {}
    for one in results:
        units.setdefault(one["resampled"]["by"], {})[one["dataset"]] = None
    said = "Tests and intervals treat queries that share a relevant document, directly or through others, as one unit"
    for by, datasets in units.items():
        if by == TEXT:
            said += f"; on {', '.join(datasets)}, where that would join most queries, only those with the same words"
        elif by != DOCUMENT:
            said += f"; on {', '.join(datasets)}, those of one {by}"
    return [f"{said}."]


def _is_about(disagreement: Disagreement, results: Sequence[dict[str, Any]]) -> bool:
    """Whether a row or mean of the paper appears beside our results."""
    groups = {one["group"] for one in results if one["group"] and one["setting"] == disagreement.setting}
    shown = {one["dataset"] for one in results if one["setting"] == disagreement.setting}
    return disagreement.about in shown or disagreement.about in groups or (disagreement.about == "" and bool(groups))


def _means(everything: Sequence[Line]) -> list[Mean]:
    lines = [line for line in everything if line.queries >= FEWEST]
    groups = [group for group in dict.fromkeys(line.group for line in lines) if group]
    means = [_mean(group, [line for line in lines if line.group == group]) for group in groups]
    return [*means, _mean(ALL, lines)] if lines else []


def _mean(name: str, lines: Sequence[Line]) -> Mean:
    weighted = [system for system in lines[0].cells if system != CHAMFER]
    found = {system: mean_interval([line.cells[system].gain for line in lines]) for system in weighted}
    gains = {system: mean for system, (mean, _, _) in found.items()}
    intervals = {system: (low, high) for system, (_, low, high) in found.items()} if len(lines) > 1 else {}
    compared = {}
    for system in PAPER_COLUMNS:
        both = [line for line in lines if line.printed and not line.cells[system].doubtful]
        if system != CHAMFER and len(both) > 1:
            ours = sum(line.cells[system].gain for line in both) / len(both)
            compared[system] = Comparison(ours, sum(_papers_gain(line, system) for line in both) / len(both), len(both))
    return Mean(name, len(lines), gains, intervals, compared)


def _papers_gain(line: Line, system: str) -> float:
    value, chamfer = line.cells[system].printed or 0.0, line.cells[CHAMFER].printed or 0.0
    return 100 * (value / chamfer - 1) if chamfer else 0.0
