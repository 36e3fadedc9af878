"""The tables that ``chamfer reproduce`` prints."""

from rich.table import Table

from chamfer.reproduce.report import Report
from chamfer.reproduce.tables import layouts


def as_tables(report: Report) -> list[Table]:
    """Our results and, for datasets of the paper, ours beside the paper's."""
    tables = []
    for layout in layouts(report, lambda text: f"[bold]{text}[/bold]"):
        table = Table(title=layout.title, box=None, padding=(0, 1, 0, 0), header_style="bold", title_justify="left")
        for place, name in enumerate(layout.columns):
            table.add_column(name.replace(", ", ",\n"), justify="left" if place == 0 else "right", no_wrap=True)
        for row in layout.rows:
            table.add_row(*row)
        tables.append(table)
    return tables
