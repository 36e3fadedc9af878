"""The report of learning: what was tried, what was chosen and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from chamfer.evaluate.significance import TIE, Bootstrap, Comparison
from chamfer.learn.folds import FoldWeights
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen
from chamfer.learn.quality import Quality
from chamfer.learn.recipe import Configuration, Contender
from chamfer.learn.selection import FALLBACK, Choice, against_fallback, gains_of
from chamfer.learn.splits import Labels
from chamfer.weights.token_weights import TokenWeights

# Bootstrap samples of the intervals.
SAMPLES = 1000


class Row(NamedTuple):
    """One contender on held-out queries: means, 95% intervals, and wins and losses against the zero-shot mix."""

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
    """Queries on which it beats the zero-shot mix."""
    ties: int
    """Queries on which both are equal."""
    losses: int
    """Queries on which the zero-shot mix beats it."""


@dataclass(frozen=True)
class LearningReport:
    """What was tried, what was chosen and why.

    Args:
        queries: number of judged queries that were learnt from.
        seen: number of distinct tokens in them.
        measured_on: how quality was measured, such as ``3-fold cross-validation``.
        choice: what was chosen, and why.
        members: the chosen configuration; none for a blend and for weights without labels.
        shares: share of each recipe in a blend; empty if nothing was blended.
        converged: whether the solver converged.
        rows: held-out quality of everything that was tried.
        heaviest: tokens of the queries with the largest weights.
        lightest: tokens of the queries with the smallest weights.
        special: special tokens of the queries and their weights.
        gain: what was chosen against the zero-shot mix; None if no query could be held out.
        folds: the weights of each fold of the cross-validation; none if there was none.
    """

    queries: int
    seen: int
    measured_on: str
    choice: Choice
    members: tuple[Configuration, ...]
    shares: Mapping[str, float]
    converged: bool
    rows: tuple[Row, ...]
    heaviest: Sequence[tuple[str, float]]
    lightest: Sequence[tuple[str, float]]
    special: Sequence[tuple[str, float]]
    gain: Comparison | None = None
    folds: tuple[FoldWeights, ...] = ()

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
            "shares": dict(self.shares),
            "converged": self.converged,
            "candidates": [row._asdict() for row in self.rows],
            "heaviest": [{"token": token, "weight": weight} for token, weight in self.heaviest],
            "lightest": [{"token": token, "weight": weight} for token, weight in self.lightest],
            "special": [{"token": token, "weight": weight} for token, weight in self.special],
            "gain": self.gain and {"queries": self.gain.queries, **self.gain._asdict()},
        }


def make_report(
    queries: Sequence[JudgedQuery],
    weights: TokenWeights,
    choice: Choice,
    members: tuple[Configuration, ...],
    measured: Mapping[Contender, Quality],
    shares: Mapping[Contender, float],
    measured_on: str,
    groups: Labels,
    folds: tuple[FoldWeights, ...] = (),
    *,
    seed: int = 0,
) -> LearningReport:
    """Make the report of weights that were learnt from queries; see :class:`LearningReport`."""
    seen = tokens_seen(queries)
    heaviest, lightest = weights.extremes(10, among=seen)
    of_recipes: dict[str, float] = {}
    for contender, share in shares.items():
        of_recipes[contender.recipe] = of_recipes.get(contender.recipe, 0.0) + share
    return LearningReport(
        queries=len(queries),
        seen=len(seen),
        measured_on=measured_on,
        choice=choice,
        members=members,
        shares=of_recipes,
        converged=weights.metadata.get("converged", True),
        rows=report_rows(measured, groups, seed=seed),
        heaviest=heaviest,
        lightest=lightest,
        special=[
            (weights.vocabulary.tokens[token], float(weights.table[token]))
            for token in seen
            if token in weights.vocabulary.special_ids
        ],
        gain=against_fallback(measured, choice.contender, groups),
        folds=folds,
    )


def report_rows(measured: Mapping[Contender, Quality], groups: Labels, *, seed: int = 0) -> tuple[Row, ...]:
    """Return the row of each contender; all intervals come from the same bootstrap samples of groups of queries."""
    if not measured:
        return ()
    baseline = measured[FALLBACK]
    queries = len(baseline)
    bootstrap = Bootstrap(queries, groups=groups, samples=SAMPLES, seed=seed)
    rows = []
    for contender, values in measured.items():
        ndcg, recall = values.mean(axis=0).tolist()
        ndcg_interval, recall_interval = bootstrap.intervals(values)
        gains = gains_of(values, baseline)
        wins, losses = int((gains > TIE).sum()), int((gains < -TIE).sum())
        ties = queries - wins - losses
        rows.append(
            Row(contender.name, contender.recipe, ndcg, ndcg_interval, recall, recall_interval, wins, ties, losses)
        )
    return tuple(rows)
