"""The report of learning: what was tried, what was chosen and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from chamfer.evaluate.significance import Bootstrap
from chamfer.learn.quality import Quality
from chamfer.learn.recipe import Configuration, Contender
from chamfer.learn.selection import Choice
from chamfer.learn.start import UNIFORM

# Bootstrap samples of the intervals.
SAMPLES = 1000
# Gains up to this size are ties: they come from rounding.
TIE = 1e-12


class Row(NamedTuple):
    """One contender on held-out queries: means, 95% bootstrap intervals, and wins and losses against uniform."""

    name: str
    """The recipe and its hyper-parameters."""
    recipe: str
    """Name of the recipe."""
    ndcg: float
    """Mean nDCG@10."""
    ndcg_interval: tuple[float, float]
    """Its 95% interval."""
    recall: float
    """Mean recall at 10."""
    recall_interval: tuple[float, float]
    """Its 95% interval."""
    wins: int
    """Queries on which it beats uniform weights."""
    ties: int
    """Queries on which both are equal."""
    losses: int
    """Queries on which uniform weights beat it."""


@dataclass(frozen=True)
class LearningReport:
    """What was tried, what was chosen and why.

    Args:
        queries: number of judged queries that were learnt from.
        seen: number of distinct tokens in them.
        measured_on: how quality was measured, such as ``3-fold cross-validation``.
        choice: what was chosen, and why.
        members: the chosen configuration, or several that were blended; empty for weights without labels.
        converged: whether the solver converged.
        rows: held-out quality of everything that was tried.
        heaviest: tokens of the queries with the largest weights.
        lightest: tokens of the queries with the smallest weights.
        special: special tokens of the queries and their weights.
    """

    queries: int
    seen: int
    measured_on: str
    choice: Choice
    members: tuple[Configuration, ...]
    converged: bool
    rows: tuple[Row, ...]
    heaviest: Sequence[tuple[str, float]]
    lightest: Sequence[tuple[str, float]]
    special: Sequence[tuple[str, float]]

    def best_of_each(self) -> list[Row]:
        """Return the best row of each recipe, the chosen one among them, best first."""
        shown: dict[str, Row] = {}
        for row in sorted(self.rows, key=lambda row: (row.name != self.choice.name, -(row.ndcg + row.recall))):
            shown.setdefault(row.recipe, row)
        return sorted(shown.values(), key=lambda row: -(row.ndcg + row.recall))

    def as_json(self) -> dict[str, Any]:
        """Everything, ready for ``json.dumps``."""
        return {
            "queries": self.queries,
            "seen": self.seen,
            "measured_on": self.measured_on,
            "chosen": self.choice.name,
            "why": self.choice.why,
            "members": [configuration.name for configuration in self.members],
            "converged": self.converged,
            "candidates": [row._asdict() for row in self.rows],
            "heaviest": [{"token": token, "weight": weight} for token, weight in self.heaviest],
            "lightest": [{"token": token, "weight": weight} for token, weight in self.lightest],
            "special": [{"token": token, "weight": weight} for token, weight in self.special],
        }


def report_rows(measured: Mapping[Contender, Quality], *, seed: int = 0) -> tuple[Row, ...]:
    """Return the row of each contender; all intervals come from the same bootstrap samples."""
    queries = len(measured[UNIFORM])
    bootstrap = Bootstrap(queries, samples=SAMPLES, seed=seed)
    rows = []
    for contender, values in measured.items():
        ndcg, recall = values.mean(axis=0).tolist()
        ndcg_interval, recall_interval = bootstrap.intervals(values)
        gains = (values - measured[UNIFORM]).mean(axis=1)
        wins, losses = int((gains > TIE).sum()), int((gains < -TIE).sum())
        ties = queries - wins - losses
        rows.append(
            Row(contender.name, contender.recipe, ndcg, ndcg_interval, recall, recall_interval, wins, ties, losses)
        )
    return tuple(rows)
