"""Tables of ``chamfer reproduce`` for the docs, from ``results/reproduce``, a run folder."""

from pathlib import Path

from chamfer.reproduce.paper import ALL_MEASURES, SETTINGS
from chamfer.reproduce.report import notes, report
from chamfer.reproduce.run import read_results
from chamfer.reproduce.tables import as_markdown

RESULTS = Path(__file__).parent / "results" / "reproduce"


def reproduced() -> str:
    """Every measure in both settings."""
    found = read_results(RESULTS)
    return as_markdown([report(found, setting, name) for setting in SETTINGS for name in ALL_MEASURES], notes(found))


def summary() -> str:
    """How often each kind of weights beats plain Chamfer, and how often beyond noise."""
    found = read_results(RESULTS)
    rows = [
        "| setting | weights | measure | datasets | better beyond noise | better | worse "
        "| worse beyond noise | mean gain |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for setting in SETTINGS:
        for name in ("idf", "idf-soft", "few-shot-paper", "few-shot"):
            for measure in ("R@10", "nDCG@10"):
                table = report(found, setting, measure)
                cells = [line.cells[name] for line in table.lines]
                counts = [
                    sum(cell.gain > 0 and cell.beyond_noise for cell in cells),
                    sum(cell.gain > 0 for cell in cells),
                    sum(cell.gain < 0 for cell in cells),
                    sum(cell.gain < 0 and cell.beyond_noise for cell in cells),
                ]
                mean = table.means[-1].gains[name]
                row = [setting, name, measure, len(cells), *counts, f"{mean:+.2f}%"]
                rows.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(rows)
