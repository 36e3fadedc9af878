"""The tables that ``chamfer learn`` prints."""

from collections.abc import Sequence

from rich.table import Table

from chamfer.learn.curve import Point
from chamfer.learn.report import LearningReport
from chamfer.learn.selection import FALLBACK


def as_table(report: LearningReport) -> Table:
    """The best configuration of each recipe, and the zero-shot weights; the chosen one is bold."""
    table = _empty("configuration", "nDCG@10", "95%", "R@10", "95%", "w/t/l")
    for row in report.best_of_each():
        spans = [f"{low:.3f}-{high:.3f}" for low, high in (row.ndcg_interval, row.recall_interval)]
        won = f"{row.wins}/{row.ties}/{row.losses}"
        style = "bold" if row.name == report.choice.name else ""
        table.add_row(row.name, f"{row.ndcg:.4f}", spans[0], f"{row.recall:.4f}", spans[1], won, style=style)
    return table


def curve_table(curve: Sequence[Point]) -> Table:
    """Quality against the number of judged queries."""
    table = _empty("judged queries", "nDCG@10", "R@10", "nDCG@10 gain", "range", "draws below 0")
    for point in curve:
        span = f"{point.gain_lowest:+.4f} to {point.gain_highest:+.4f}" if point.queries else ""
        name = str(point.queries) if point.queries else f"0 ({FALLBACK.name})"
        below = f"{point.below:.0%}" if point.queries else ""
        table.add_row(name, f"{point.ndcg:.4f}", f"{point.recall:.4f}", f"{point.gain:+.4f}", span, below)
    return table


def _empty(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for header in others:
        table.add_column(header, justify="right", no_wrap=True)
    return table
