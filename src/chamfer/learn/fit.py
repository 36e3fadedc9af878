"""Judged queries in, weights and a report out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from chamfer.errors import InputError
from chamfer.evaluate.significance import Bootstrap
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen
from chamfer.learn.paper import Preset
from chamfer.learn.quality import Quality
from chamfer.learn.recipes import RECIPES, Candidate, Recipe, Start, candidates_of, join
from chamfer.learn.selection import Choice, better_half, choose, measure_blend
from chamfer.learn.trials import Trial, cross_validation, fit_trials, measure_trials
from chamfer.support.progress import Progress, quiet
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import IN_PROCESS, Workers

# Bootstrap samples of the intervals.
SAMPLES = 1000
TIE = 1e-12
BLEND = "blend"
FOLDS = 3
"""Folds of the cross-validation unless another number is given."""


class Row(NamedTuple):
    """One candidate on held-out queries: means with bootstrap intervals of 95 %, and queries won against uniform."""

    name: str
    recipe: str
    ndcg: float
    ndcg_interval: tuple[float, float]
    recall: float
    recall_interval: tuple[float, float]
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class LearningReport:
    """What was tried, what came out and why."""

    queries: int
    seen: int
    """How many tokens the judged queries have."""
    measured_on: str
    choice: Choice
    members: tuple[Candidate, ...]
    """What was chosen: one candidate, several blended ones, or none where the weights need no label."""
    converged: bool
    """Whether the solver was done before its last step."""
    rows: tuple[Row, ...]
    heaviest: Sequence[tuple[str, float]]
    lightest: Sequence[tuple[str, float]]
    special: Sequence[tuple[str, float]]

    def best_of_each(self) -> list[Row]:
        """The best row of each recipe, the chosen one among them, best first."""
        shown: dict[str, Row] = {}
        for row in sorted(self.rows, key=lambda row: (row.name != self.choice.name, -(row.ndcg + row.recall))):
            shown.setdefault(row.recipe, row)
        return sorted(shown.values(), key=lambda row: -(row.ndcg + row.recall))

    def as_json(self) -> dict[str, Any]:
        """Ready for ``json.dumps``."""
        return {
            "queries": self.queries,
            "seen": self.seen,
            "measured_on": self.measured_on,
            "chosen": self.choice.name,
            "why": self.choice.why,
            "members": [candidate.name for candidate in self.members],
            "converged": self.converged,
            "candidates": [row._asdict() for row in self.rows],
            "heaviest": [{"token": token, "weight": weight} for token, weight in self.heaviest],
            "lightest": [{"token": token, "weight": weight} for token, weight in self.lightest],
            "special": [{"token": token, "weight": weight} for token, weight in self.special],
        }


class Fitted(NamedTuple):
    """Weights and how they were chosen."""

    weights: TokenWeights
    report: LearningReport


def fit_weights(
    queries: Sequence[JudgedQuery],
    start: Start,
    *,
    recipe: str = "auto",
    validation: Sequence[JudgedQuery] = (),
    preset: Preset | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    progress: Progress = quiet,
    workers: Workers = IN_PROCESS,
) -> Fitted:
    """Learn weights from judged queries and choose them by what they do on queries they were not fitted to.

    Args:
        queries: judged queries with their minima.
        start: uniform, IDF and softened IDF weights.
        recipe: ``auto`` tries all recipes, blends the better half and keeps uniform weights unless something beats them
            beyond noise; a named recipe only chooses its hyper-parameters.
        validation: measure on these; if there are none, by cross-validation. The chosen candidate is fitted again
            to all queries.
        preset: hyper-parameters of the recipe ``paper``.
        folds: of the cross-validation.
        seed: of the folds and the bootstrap.
        progress: shows long work.
        workers: who fits the candidates.
    """
    if not queries:
        raise InputError("learning needs at least one judged query")
    if recipe != "auto" and recipe not in RECIPES:
        raise InputError(f"a recipe is auto, {', '.join(RECIPES)}, not {recipe!r}")
    candidates = candidates_of(
        RECIPES if recipe == "auto" else (cast("Recipe", recipe),), preset, search=recipe == "paper"
    )
    if validation:
        trials = [Trial(queries, validation, np.arange(len(validation)))]
    else:
        trials = cross_validation(queries, folds=folds, seed=seed)
    with progress("fitting candidates", len(candidates) * len(trials)) as advance:
        fitted = fit_trials(trials, start, candidates, advance, workers=workers)
    given = start.by_name()
    measured = measure_trials(trials, {**{name: [one] * len(trials) for name, one in given.items()}, **fitted})
    by_name = {candidate.name: [candidate] for candidate in candidates}
    if recipe == "auto":
        # The paper's weights may be 0, which no mean of logarithms survives. The best of the others owes more to luck
        # than their blend does, so only the blend stands for them.
        others = {name: of_trials for name, of_trials in fitted.items() if by_name[name][0].recipe != "paper"}
        measured[BLEND] = measure_blend(trials, others, measured)
        half = set(better_half(measured, list(others)))
        by_name[BLEND] = [candidate for candidate in candidates if candidate.name in half]
        contenders = {name: values for name, values in measured.items() if name not in others}
        choice = choose(contenders, BLEND, seed=seed)
    else:
        # Of equals the first is taken: what needs no label before what was learnt.
        allowed = [*(["idf", "idf (special 0)"] if recipe == "paper" else []), *sorted(by_name, reverse=True)]
        choice = Choice(
            max(allowed, key=lambda name: measured[name].mean()),
            f"best mean of nDCG@10 and Recall@10 on held-out queries among {len(allowed)} candidates",
        )
    everything = [*queries, *validation]
    members = by_name.get(choice.name, [])
    if members:
        with progress("fitting the chosen", len(members)) as advance:
            last = fit_trials([Trial(everything, (), np.arange(0))], start, members, advance, workers=workers)
        weights = join([last[candidate.name][0] for candidate in members])
    else:
        weights = given[choice.name]
    seen = tokens_seen(everything)
    heaviest, lightest = weights.extremes(10, among=seen)
    report = LearningReport(
        queries=len(everything),
        seen=len(seen),
        measured_on=f"{len(validation)} of them for validation" if validation else f"{folds}-fold cross-validation",
        choice=choice,
        members=tuple(members),
        converged=weights.metadata.get("converged", True),
        rows=_rows(measured, {candidate.name: candidate.recipe for candidate in candidates}, seed),
        heaviest=heaviest,
        lightest=lightest,
        special=[
            (weights.vocabulary.tokens[token], float(weights.table[token]))
            for token in seen
            if token in weights.vocabulary.special_ids
        ],
    )
    return Fitted(weights, report)


def _rows(measured: Mapping[str, Quality], recipes: Mapping[str, str], seed: int) -> tuple[Row, ...]:
    queries = len(measured["uniform"])
    bootstrap = Bootstrap(queries, samples=SAMPLES, seed=seed)
    rows = []
    for name, values in measured.items():
        ndcg, recall = values.mean(axis=0).tolist()
        gains = (values - measured["uniform"]).mean(axis=1)
        wins, losses = int((gains > TIE).sum()), int((gains < -TIE).sum())
        spans = bootstrap.intervals(values)
        recipe = recipes.get(name, name)
        rows.append(Row(name, recipe, ndcg, spans[0], recall, spans[1], wins, queries - wins - losses, losses))
    return tuple(rows)
