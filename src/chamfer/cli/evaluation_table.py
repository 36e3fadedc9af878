"""The table that ``chamfer evaluate`` prints."""

from rich.markup import escape
from rich.table import Table

from chamfer.evaluate.evaluation import Evaluation
from chamfer.evaluate.measures import MAIN, MEASURES


def title(evaluation: Evaluation) -> str:
    """One line: dataset, sizes, encoder, form and time."""
    settings = evaluation.settings
    return f"{evaluation.title}, {settings['encoder']}, {settings['form']}, {evaluation.seconds:.0f} s"


def as_table(evaluation: Evaluation) -> Table:
    """One row per system, compared with the baseline; the best value of each measure is bold."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("system\n", no_wrap=True)
    for measure in MEASURES:
        table.add_column(measure.replace("@", "\n@"), justify="right", min_width=6)
    baseline = evaluation[evaluation.baseline].label
    table.add_column(f"{MAIN}\nvs {escape(baseline)}", justify="right", min_width=7)
    table.add_column("p\n", justify="right", min_width=5)
    table.add_column("win/tie/loss\n", justify="right", min_width=12)
    rows = evaluation.table()
    best = {name: max(row[name] for row in rows) for name in MEASURES}
    for row in rows:
        cells = [
            f"[bold]{row[name]:.4f}[/bold]" if row[name] == best[name] else f"{row[name]:.4f}" for name in MEASURES
        ]
        change = ["", "", ""]
        if row["system"] != baseline:
            change = [
                f"{row['difference']:+.4f}",
                "<.001" if row["p_value"] < 0.001 else f"{row['p_value']:.3f}",
                f"{row['wins']}/{row['ties']}/{row['losses']}",
            ]
        table.add_row(escape(row["system"]), *cells, *change)
    return table
