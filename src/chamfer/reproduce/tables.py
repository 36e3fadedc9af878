"""Reports as Markdown and as LaTeX."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from chamfer.evaluate.collection_means import percent_in
from chamfer.reproduce.paper import Setting
from chamfer.reproduce.report import ALL, Cell, Comparison, Line, Mean, Report
from chamfer.reproduce.systems import CHAMFER, PAPER_COLUMNS, TITLES

SETTING_TITLES: dict[Setting, str] = {
    "rerank": "re-ranking BM25's candidates",
    "end-to-end": "end to end, without BM25",
}
Bold = Callable[[str], str]


def title(report: Report) -> str:
    """Title of a table."""
    return f"{report.measure}, {SETTING_TITLES[report.setting]}"


def as_markdown(reports: Sequence[Report], notes: Sequence[str]) -> str:
    """All tables of a run as Markdown."""
    parts = []
    for report in reports:
        for table in layouts(report, lambda text: f"**{text}**"):
            rows = [table.columns, ["---", *["---:"] * (len(table.columns) - 1)], *table.rows]
            parts.append(f"### {table.title}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join([*parts, "\n".join(f"- {note}" for note in notes)]) + "\n"


def as_latex(reports: Sequence[Report], notes: Sequence[str]) -> str:
    """All tables of a run as LaTeX, for a document that uses booktabs."""
    parts = ["\n".join(f"% {note}" for note in notes)]
    for report in reports:
        for table in layouts(report, lambda text: f"\\textbf{{{text}}}"):
            rows = [f"{' & '.join(map(_escaped, row))} \\\\" for row in table.rows]
            parts.append(
                "\\begin{table}\n\\centering\n"
                f"\\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}\n\\toprule\n"
                f"{' & '.join(map(_escaped, table.columns))} \\\\\n\\midrule\n" + "\n".join(rows) + "\n\\bottomrule\n"
                f"\\end{{tabular}}\n\\caption{{{_escaped(table.title)}}}\n\\end{{table}}"
            )
    return "\n\n".join(parts) + "\n"


class Layout(NamedTuple):
    """Title, column names and rows of a table, as text."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def layouts(report: Report, bold: Bold) -> Iterator[Layout]:
    """Lay out our results and, for datasets of the paper, ours beside the paper's."""
    first = ["BM25"] if any(line.bm25 is not None for line in report.lines) else []
    lines = list(_named_lines(report))
    rows = [
        [
            name,
            str(line.queries),
            *("" if line.bm25 is None else f"{line.bm25:.4f}" for _ in first),
            *(_cell(system, line.cells[system], bold) for system in report.systems),
        ]
        for name, line in lines
    ]
    for mean in report.means:
        gains = [_gain(mean, name) for name in report.systems[1:]]
        rows.append([f"mean gain, {mean.name}", "", *("" for _ in first), "", *gains])
    yield Layout(title(report), ["dataset", "queries", *first, *(TITLES[name] for name in report.systems)], rows)
    published = [(name, line) for name, line in lines if line.printed]
    if not published:
        return
    rows = []
    for name, line in published:
        cells = [line.cells[system] for system in PAPER_COLUMNS]
        rows.append([name, *(text for cell in cells for text in _beside(cell))])
    for mean in report.means:
        if mean.compared:
            both = [mean.compared.get(system) for system in PAPER_COLUMNS]
            rows.append([f"mean gain, {mean.name}", *(text for one in both for text in _compared(one))])
    columns = [
        f"{name}, {what}" for name in ("Chamfer", "IDF", "paper's few-shot") for what in ("ours", "paper", "difference")
    ]
    yield Layout(f"{title(report)}, compared with the paper", ["dataset", *columns], rows)


def _named_lines(report: Report) -> Iterator[tuple[str, Line]]:
    """The rows of a table and what they are called, datasets with own documents twice."""
    for line in report.lines:
        yield line.dataset, line
        yield from (
            (f"{one.dataset}, own document kept", one) for one in report.own_kept if one.dataset == line.dataset
        )


def _gain(mean: Mean, system: str) -> str:
    if mean.name == ALL and mean.intervals:
        return percent_in(mean.gains[system], *mean.intervals[system])
    return f"{mean.gains[system]:+.2f}%"


def _beside(cell: Cell) -> list[str]:
    theirs = cell.printed or 0.0
    return [f"{cell.value:.4f}", f"{theirs:.4f}{'?' if cell.doubtful else ''}", f"{cell.value - theirs:+.4f}"]


def _compared(both: Comparison | None) -> list[str]:
    if both is None:
        return [""] * 3
    return [f"{both.ours:+.2f}%", f"{both.papers:+.2f}%", f"{both.ours - both.papers:+.2f}"]


def _cell(name: str, cell: Cell, bold: Bold) -> str:
    if name == CHAMFER:
        return f"{cell.value:.4f}"
    text = f"{cell.value:.4f} ({cell.gain:+.1f}%)".replace("(-0.0%)", "(+0.0%)")
    return bold(text) if cell.beyond_noise and cell.gain > 0 else text


def _escaped(text: str) -> str:
    return text.replace("%", "\\%").replace("_", "\\_").replace("&", "\\&")
