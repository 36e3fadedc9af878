"""A plot of a learning report: held-out quality, the spread of weights and, optionally, the learning curve."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from chamfer.learn.curve import Point
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen
from chamfer.learn.report import LearningReport
from chamfer.learn.selection import FALLBACK
from chamfer.support.files import atomic_write
from chamfer.support.plots import check_plot
from chamfer.weights.token_weights import TokenWeights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEARNT, GIVEN, QUIET = "#2f6f9f", "#c77d2e", "#8a8a8a"


def plot_learning(
    path: Path,
    report: LearningReport,
    weights: TokenWeights,
    prior: TokenWeights,
    queries: Sequence[JudgedQuery],
    curve: Sequence[Point] = (),
) -> None:
    """Plot the held-out quality of the best configuration of each recipe, and the spread of the weights."""
    check_plot(path)
    from matplotlib.figure import Figure

    panels = 3 if curve else 2
    figure = Figure(figsize=(5.2 * panels, 4.6), layout="constrained")
    axes = figure.subplots(1, panels, width_ratios=[1.4, *[1] * (panels - 1)])
    _measures(axes[0], report)
    _weights(axes[1], weights, prior, queries)
    if curve:
        _curve(axes[2], curve)
    save_figure(path, figure)


def save_figure(path: Path, figure: "Figure") -> None:
    """Save a figure atomically."""
    drawn = BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], dpi=150)
    with atomic_write(path) as file:
        file.write(drawn.getvalue())


def _measures(axes: "Axes", report: LearningReport) -> None:
    rows = report.best_of_each()
    places = np.arange(len(rows))
    for offset, colour, label, value, interval in (
        (-0.13, LEARNT, "nDCG@10", "ndcg", "ndcg_interval"),
        (0.13, GIVEN, "Recall@10", "recall", "recall_interval"),
    ):
        means = np.array([getattr(row, value) for row in rows])
        low, high = np.array([getattr(row, interval) for row in rows]).T
        spread = np.maximum([means - low, high - means], 0)  # rounding can put a mean just outside its interval
        axes.errorbar(means, places + offset, xerr=spread, fmt="o", color=colour, label=label, capsize=2, markersize=4)
    axes.set_yticks(places, [row.name for row in rows])
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if row.name == report.choice.name else "normal")
    axes.invert_yaxis()
    axes.set_title(f"Held-out quality, {report.measured_on}", fontsize=10)
    axes.grid(axis="x", color="#e5e5e5")
    axes.legend(fontsize=8)


def _weights(axes: "Axes", weights: TokenWeights, prior: TokenWeights, queries: Sequence[JudgedQuery]) -> None:
    seen = tokens_seen(queries)
    given, learnt = prior.table[seen], weights.table[seen]
    # Only ratios of weights matter, so each set is drawn relative to its own mean.
    relative = [table / max(float(table.mean()), 1e-12) for table in (given, learnt)]
    bins = np.geomspace(0.1, 10, 41).tolist()
    for table, colour, label in zip(relative, (QUIET, LEARNT), ("softened IDF", "chosen"), strict=True):
        axes.hist(np.clip(table, bins[0], bins[-1]), bins, color=colour, alpha=0.6, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("weight / mean weight")
    axes.set_ylabel("tokens of the judged queries")
    axes.set_title("Weights", fontsize=10)
    axes.legend(fontsize=8)


def _curve(axes: "Axes", curve: Sequence[Point]) -> None:
    learnt = curve[1:]
    sizes = [point.queries for point in learnt]
    lowest, highest = [point.gain_lowest for point in learnt], [point.gain_highest for point in learnt]
    axes.fill_between(sizes, lowest, highest, color=LEARNT, alpha=0.2, linewidth=0)
    axes.plot(sizes, [point.gain for point in learnt], "o-", color=LEARNT)
    axes.axhline(0, color=QUIET, linestyle="--")
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes], minor=False)
    axes.minorticks_off()
    axes.set_xlabel("judged queries learnt from")
    axes.set_ylabel(f"gain in nDCG@10 over the {FALLBACK.name} (mean, range)")
    axes.set_title("How much data is enough", fontsize=10)
