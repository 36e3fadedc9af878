"""The table that ``chamfer evaluate`` prints."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from chamfer.evaluate.experiment import Evaluation
from chamfer.evaluate.measures import MEASURES


def title(evaluation: Evaluation) -> str:
    """One line: dataset, sizes, encoder, form and time."""
    settings = evaluation.settings
    return (
        f"{evaluation.dataset}, {evaluation.split}: {evaluation.queries} queries, {evaluation.documents} documents, "
        f"{settings['encoder']}, {settings['form']}, {evaluation.seconds:.0f} s"
    )


def as_table(evaluation: Evaluation) -> Table:
    """One row per system, compared with the baseline; the best value of each measure is bold."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("system\n", no_wrap=True)
    for measure in MEASURES:
        table.add_column(measure.replace("@", "\n@"), justify="right", min_width=6)
    against = escape(Path(evaluation.baseline).stem)
    table.add_column(f"nDCG@10\nvs {against}", justify="right", min_width=7)
    table.add_column("p\n", justify="right", min_width=5)
    table.add_column("win/tie/loss\n", justify="right", min_width=12)
    best = {name: max(system.measures[name] for system in evaluation.systems) for name in MEASURES}
    for system in evaluation.systems:
        cells = [
            f"[bold]{value:.4f}[/bold]" if value == best[name] else f"{value:.4f}"
            for name, value in system.measures.items()
        ]
        change = ["", "", ""]
        if system.name != evaluation.baseline:
            found = evaluation.against_baseline(system, "nDCG@10")
            change = [
                f"{found.difference:+.4f}",
                "<.001" if found.p_value < 0.001 else f"{found.p_value:.3f}",
                f"{found.wins}/{found.ties}/{found.losses}",
            ]
        table.add_row(escape(Path(system.name).stem), *cells, *change)
    return table
