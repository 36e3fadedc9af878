"""Judged queries in, weights and a report out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen
from chamfer.learn.paper import Preset
from chamfer.learn.quality import Quality
from chamfer.learn.selection import (
    RECIPES,
    Candidate,
    Choice,
    Recipe,
    Start,
    candidates_of,
    choose,
    cross_validate,
    fit_candidates,
    measure_candidates,
)
from chamfer.progress import Progress, quiet
from chamfer.weights import TokenWeights

SAMPLES = 1000


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
    candidate: Candidate | None
    """What was chosen, with its hyper-parameters; None if it needs no label."""
    converged: bool
    """Whether the solver was done before its last step."""
    rows: tuple[Row, ...]
    heaviest: Sequence[tuple[str, float]]
    lightest: Sequence[tuple[str, float]]

    def as_json(self) -> dict[str, Any]:
        """Ready for ``json.dumps``."""
        return {
            "queries": self.queries,
            "seen": self.seen,
            "measured_on": self.measured_on,
            "chosen": self.choice.name,
            "why": self.choice.why,
            "converged": self.converged,
            "candidates": [row._asdict() for row in self.rows],
            "heaviest": [{"token": token, "weight": weight} for token, weight in self.heaviest],
            "lightest": [{"token": token, "weight": weight} for token, weight in self.lightest],
        }


class Learnt(NamedTuple):
    """Weights and how they were chosen."""

    weights: TokenWeights
    report: LearningReport


def fit_weights(
    queries: Sequence[JudgedQuery],
    start: Start,
    *,
    recipe: Literal["auto"] | Recipe = "auto",
    validation: Sequence[JudgedQuery] = (),
    preset: Preset | None = None,
    folds: int = 3,
    seed: int = 0,
    progress: Progress = quiet,
) -> Learnt:
    """Learn weights from judged queries and choose them by what they do on queries they were not fitted to.

    Args:
        queries: judged queries with their minima.
        start: uniform, IDF and softened IDF weights.
        recipe: ``auto`` tries all recipes and keeps uniform weights unless something beats them beyond noise; a
            named recipe only chooses its hyper-parameters.
        validation: measure on these; if there are none, by cross-validation. The chosen candidate is fitted again
            to all queries.
        preset: hyper-parameters of the recipe ``paper``.
        folds: of the cross-validation.
        seed: of the folds and the bootstrap.
        progress: shows long work.
    """
    if recipe != "auto" and recipe not in RECIPES:
        raise InputError(f"a recipe is auto, {', '.join(RECIPES)}, not {recipe!r}")
    recipes = RECIPES if recipe == "auto" else (recipe,)
    candidates = candidates_of(recipes, preset, search=recipe == "paper")
    with progress("fitting candidates", len(candidates) * (1 if validation else folds)) as advance:
        if validation:
            (measured,) = measure_candidates([(queries, validation)], start, candidates, advance)
        else:
            measured = cross_validate(queries, start, candidates, folds=folds, seed=seed, advance=advance)
    if recipe == "auto":
        choice = choose(measured)
    else:
        allowed = {candidate.name for candidate in candidates} | ({"idf"} if recipe == "paper" else set())
        best = max(allowed, key=lambda name: (measured[name].mean(), name))
        choice = Choice(best, f"best held-out mean of nDCG@10 and Recall@10 among {recipe}'s candidates")
    everything = [*queries, *validation]
    by_name = {candidate.name: candidate for candidate in candidates}
    chosen = by_name.get(choice.name)
    if chosen is None:
        weights: TokenWeights = start._asdict()[choice.name]
    else:
        weights = next(fit_candidates(everything, start, [chosen]))[1]
    heaviest, lightest = weights.extremes(10)
    report = LearningReport(
        queries=len(everything),
        seen=len(tokens_seen(everything)),
        measured_on=f"{len(validation)} validation queries" if validation else f"{folds}-fold cross-validation",
        choice=choice,
        candidate=chosen,
        converged=weights.metadata.get("converged", True),
        rows=tuple(
            _row(name, by_name[name].recipe if name in by_name else name, values, measured["uniform"], seed)
            for name, values in measured.items()
        ),
        heaviest=heaviest,
        lightest=lightest,
    )
    return Learnt(weights, report)


def _row(name: str, recipe: str, values: Quality, uniform: Quality, seed: int) -> Row:
    ndcg, recall = values.mean(axis=0)
    difference = values.mean(axis=1) - uniform.mean(axis=1)
    return Row(
        name,
        recipe,
        float(ndcg),
        _interval(values[:, 0], seed),
        float(recall),
        _interval(values[:, 1], seed),
        int((difference > 1e-12).sum()),
        int((np.abs(difference) <= 1e-12).sum()),
        int((difference < -1e-12).sum()),
    )


def _interval(values: npt.NDArray[np.float64], seed: int) -> tuple[float, float]:
    """Where the mean lies in 95 % of bootstrap samples."""
    drawn = np.random.default_rng(seed).integers(0, len(values), (SAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)
