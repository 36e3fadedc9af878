"""A report for the terminal, as Markdown and as LaTeX."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.table import Table

from chamfer.reproduce.paper import Setting
from chamfer.reproduce.protocol import CHAMFER, RECIPE, SYSTEMS
from chamfer.reproduce.report import NAMES, OF_PAPER, Cell, Report

SPOKEN: dict[Setting, str] = {
    "rerank": "BM25's best candidates, ranked again",
    "end-to-end": "end to end, without BM25",
}
Bold = Callable[[str], str]


def title(report: Report) -> str:
    """What a table shows."""
    return f"{report.measure}, {SPOKEN[report.setting]}"


def as_terminal(report: Report) -> list[Table]:
    """For people who watch."""
    tables = []
    for part in _parts(report, lambda text: f"[bold]{text}[/bold]"):
        table = Table(title=part.title, box=None, padding=(0, 1, 0, 0), header_style="bold", title_justify="left")
        for place, name in enumerate(part.columns):
            table.add_column(name.replace(", ", ",\n"), justify="left" if place == 0 else "right", no_wrap=True)
        for row in part.rows:
            table.add_row(*row)
        tables.append(table)
    return tables


def as_markdown(reports: Sequence[Report], notes: Sequence[str]) -> str:
    """All tables of a run on one page."""
    parts = []
    for report in reports:
        for part in _parts(report, lambda text: f"**{text}**"):
            rows = [part.columns, ["---", *["---:"] * (len(part.columns) - 1)], *part.rows]
            parts.append(f"### {part.title}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join([*parts, "\n".join(f"- {note}" for note in notes)]) + "\n"


def as_latex(reports: Sequence[Report], notes: Sequence[str]) -> str:
    """All tables of a run, for a document that uses booktabs."""
    parts = ["\n".join(f"% {note}" for note in notes)]
    for report in reports:
        for part in _parts(report, lambda text: f"\\textbf{{{text}}}"):
            rows = [f"{' & '.join(map(_escaped, row))} \\\\" for row in part.rows]
            parts.append(
                "\\begin{table}\n\\centering\n"
                f"\\begin{{tabular}}{{l{'r' * (len(part.columns) - 1)}}}\n\\toprule\n"
                f"{' & '.join(map(_escaped, part.columns))} \\\\\n\\midrule\n" + "\n".join(rows) + "\n\\bottomrule\n"
                f"\\end{{tabular}}\n\\caption{{{_escaped(part.title)}}}\n\\end{{table}}"
            )
    return "\n\n".join(parts) + "\n"


class _Part(NamedTuple):
    title: str
    columns: list[str]
    rows: list[list[str]]


def _parts(report: Report, bold: Bold) -> Iterator[_Part]:
    """Our figures, and, where the paper has some of the datasets, ours beside the paper's."""
    first = ["BM25"] if any(line.bm25 is not None for line in report.lines) else []
    rows = [
        [
            line.dataset,
            str(line.queries),
            *(f"{line.bm25 or 0:.4f}" for _ in first),
            *(_cell(name, line.cells[name], bold) for name in SYSTEMS),
        ]
        for line in report.lines
    ]
    for mean in report.means:
        gains = [f"{mean.gains[name]:+.2f} %" for name in SYSTEMS[1:]]
        rows.append([f"mean gain, {mean.name}", "", *("" for _ in first), "", *gains])
    yield _Part(title(report), ["dataset", "queries", *first, *(NAMES[name] for name in SYSTEMS)], rows)
    beside = [line for line in report.lines if line.printed]
    if not beside:
        return
    rows = []
    for line in beside:
        row = [line.dataset]
        for name in OF_PAPER:
            ours, theirs = line.cells[name].value, line.cells[name].printed or 0.0
            row += [f"{ours:.4f}", f"{theirs:.4f}", f"{ours - theirs:+.4f}"]
        rows.append(row)
    for mean in report.means:
        if mean.printed is not None:
            ours, theirs = mean.gains[RECIPE], mean.printed
            row = [f"mean gain, {mean.name}", *[""] * 6, f"{ours:+.2f} %", f"{theirs:+.2f} %", f"{ours - theirs:+.2f}"]
            rows.append(row)
    columns = [
        f"{name}, {what}"
        for name in ("Chamfer", "IDF", "paper's few-shot")
        for what in ("here", "printed", "difference")
    ]
    yield _Part(f"{title(report)}, beside the paper", ["dataset", *columns], rows)


def _cell(name: str, cell: Cell, bold: Bold) -> str:
    if name == CHAMFER:
        return f"{cell.value:.4f}"
    text = f"{cell.value:.4f} ({cell.gain:+.1f} %)".replace("(-0.0 %)", "(+0.0 %)")
    return bold(text) if cell.beyond_noise and cell.gain > 0 else text


def _escaped(text: str) -> str:
    return text.replace("%", "\\%").replace("_", "\\_").replace("&", "\\&")
