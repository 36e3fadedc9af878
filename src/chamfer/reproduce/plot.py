"""The paper's Figure 1: the gain on each dataset, ours beside the paper's."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from chamfer.learn.plot import save_figure
from chamfer.reproduce.report import Report
from chamfer.reproduce.systems import FEW_SHOT, FEW_SHOT_PAPER, TITLES
from chamfer.reproduce.tables import title
from chamfer.support.plots import check_plot
from chamfer.weights.zero_shot import IDF, MIX, SOFT_IDF

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {IDF: "#8a8a8a", SOFT_IDF: "#c77d2e", MIX: "#4d8f4d", FEW_SHOT_PAPER: "#7a5195", FEW_SHOT: "#2f6f9f"}


def plot_gains(path: Path, reports: Sequence[Report]) -> None:
    """Plot the gain over Chamfer on each dataset, one panel per report; gains within noise are pale."""
    check_plot(path)
    from matplotlib.figure import Figure

    longest = max(len(report.lines) for report in reports)
    figure = Figure(figsize=(1.5 + 6 * len(reports), 1.2 + 0.55 * longest), layout="constrained")
    for axes, report in zip(figure.subplots(1, len(reports), squeeze=False)[0], reports, strict=True):
        _draw(axes, report)
    save_figure(path, figure)


def _draw(axes: "Axes", report: Report) -> None:
    places = np.arange(len(report.lines))[::-1]
    weighted = report.systems[1:]
    height = 0.8 / len(weighted)
    for number, name in enumerate(weighted):
        cells = [line.cells[name] for line in report.lines]
        bars = axes.barh(
            places + ((len(weighted) - 1) / 2 - number) * height,
            [cell.gain for cell in cells],
            height * 0.9,
            color=COLOURS[name],
            label=TITLES[name],
        )
        for bar, cell in zip(bars, cells, strict=True):
            bar.set_alpha(1.0 if cell.beyond_noise else 0.35)
    theirs = [
        (place, line.printed.gain)
        for place, line in zip(places, report.lines, strict=True)
        if line.printed and not line.cells[FEW_SHOT_PAPER].doubtful
    ]
    if theirs:
        axes.plot([gain for _, gain in theirs], [place for place, _ in theirs], "kd", ms=5, label="paper, few-shot")
    axes.axvline(0, color="black", lw=0.8)
    axes.set_yticks(places, [line.dataset for line in report.lines])
    axes.set_xlabel(f"gain over Chamfer in {report.measure}, % (pale: within noise)")
    axes.set_title(title(report), loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
