"""Which weights to trust: every candidate measured on queries that it was not fitted to."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.paper import PRESETS, Preset, fit_paper
from chamfer.learn.prior import Learner
from chamfer.learn.quality import Quality, quality
from chamfer.progress import Advance, ignore
from chamfer.threads import in_threads
from chamfer.weights import TokenWeights

Recipe = Literal["paper", "prior", "context"]
RECIPES: tuple[Recipe, ...] = ("paper", "prior", "context")

PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1)
"""From stiff to loose, so that each solution starts the next."""
CONTEXT_PENALTIES = (10.0, 3.0)


MARGIN = 2.5
"""Standard errors. The best of some thirty candidates is about two above zero by luck alone."""


class Start(NamedTuple):
    """Weights that need no label: what learning starts from and must beat."""

    uniform: TokenWeights
    idf: TokenWeights
    soft: TokenWeights


class Candidate(NamedTuple):
    """One recipe with its hyper-parameters."""

    recipe: Recipe
    prior: Literal["soft", "uniform"] = "soft"
    penalty: float = 3.0
    context_penalty: float | None = None
    preset: Preset = Preset()

    @property
    def name(self) -> str:
        """The recipe and what sets it apart from its like."""
        if self.recipe == "paper":
            return f"paper ({self.preset.alpha:g}, {self.preset.closest}, {self.preset.closer})"
        context = "" if self.context_penalty is None else f", {self.context_penalty:g}"
        return f"{self.recipe} ({self.prior}, {self.penalty:g}{context})"


def candidates_of(recipes: Sequence[Recipe], preset: Preset | None = None, *, search: bool = False) -> list[Candidate]:
    """List what is tried for some recipes.

    Args:
        recipes: which.
        preset: of the recipe ``paper``; 0.1, 10 and 100 if not given.
        search: try all published presets for ``paper``.
    """
    found: list[Candidate] = []
    if "paper" in recipes:
        presets = sorted(set(PRESETS.values())) if search and preset is None else [preset or Preset()]
        found += [Candidate("paper", preset=one) for one in presets]
    for prior in ("soft", "uniform"):
        if "prior" in recipes:
            found += [Candidate("prior", prior, penalty) for penalty in PENALTIES]
        if "context" in recipes:
            found += [Candidate("context", prior, p, c) for p in PENALTIES for c in CONTEXT_PENALTIES]
    return found


def fit_candidates(
    queries: Sequence[JudgedQuery], start: Start, candidates: Sequence[Candidate]
) -> Iterator[tuple[Candidate, TokenWeights]]:
    """Fit candidates to some queries, one after the other; neighbours in the list start from each other."""
    for (recipe, prior), alike in groupby(candidates, key=lambda candidate: (candidate.recipe, candidate.prior)):
        if recipe == "paper":
            for candidate in alike:
                yield candidate, fit_paper(queries, start.idf, candidate.preset)
            continue
        learner = Learner(queries, start.soft if prior == "soft" else start.uniform, context=recipe == "context")
        near = None
        for candidate in alike:
            near = learner.solve(candidate.penalty, candidate.context_penalty or 0.0, near)
            weights = learner.weights(near)
            made = {**weights.metadata, "recipe": recipe, "prior": prior, "penalty": candidate.penalty}
            if candidate.context_penalty is not None:
                made["context_penalty"] = candidate.context_penalty
            yield candidate, TokenWeights(weights.table, weights.vocabulary, made, weights.context)


Trial = tuple[Sequence[JudgedQuery], Sequence[JudgedQuery]]
"""Queries to fit to, and others to measure on."""


def measure_candidates(
    trials: Sequence[Trial], start: Start, candidates: Sequence[Candidate], advance: Advance = ignore
) -> list[dict[str, Quality]]:
    """Fit every candidate to the queries of each trial and measure it on the others, beside the starting weights."""
    alike = [list(group) for _, group in groupby(candidates, key=lambda candidate: candidate[:2])]

    def measure(task: tuple[Trial, list[Candidate]]) -> dict[str, Quality]:
        (train, held_out), some = task
        found = {}
        for candidate, weights in fit_candidates(train, start, some):
            found[candidate.name] = quality(held_out, weights)
            advance(1)
        return found

    measured = [{name: quality(trial[1], weights) for name, weights in start._asdict().items()} for trial in trials]
    tasks = [(place, some) for place in range(len(trials)) for some in alike]
    done = in_threads(measure, [(trials[place], some) for place, some in tasks])
    for (place, _), found in zip(tasks, done, strict=True):
        measured[place] |= found
    return measured


def cross_validate(
    queries: Sequence[JudgedQuery],
    start: Start,
    candidates: Sequence[Candidate],
    *,
    folds: int = 3,
    seed: int = 0,
    advance: Advance = ignore,
) -> dict[str, Quality]:
    """Measure every candidate on each query, fitted to the folds that the query is not in."""
    if len(queries) < folds:
        raise InputError(f"{folds} folds need at least {folds} judged queries, not {len(queries)}; judge some more")
    fold_of = np.random.default_rng(seed).permutation(len(queries)) % folds
    trials: list[Trial] = []
    for fold in range(folds):
        train = [query for query, own in zip(queries, fold_of, strict=True) if own != fold]
        trials.append((train, [query for query, own in zip(queries, fold_of, strict=True) if own == fold]))
    measured: dict[str, Quality] = {}
    for fold, found in enumerate(measure_candidates(trials, start, candidates, advance)):
        for name, values in found.items():
            measured.setdefault(name, np.zeros((len(queries), 2)))[fold_of == fold] = values
    return measured


class Choice(NamedTuple):
    """The name of the chosen candidate and the reason."""

    name: str
    why: str


def choose(measured: Mapping[str, Quality], *, margin: float = MARGIN) -> Choice:
    """Choose the candidate that is best beyond noise.

    The best mean of nDCG@10 and Recall@10 wins if it is above uniform by more than ``margin`` standard errors of the
    paired difference; otherwise uniform stays.
    """
    both: dict[str, npt.NDArray[np.float64]] = {name: values.mean(axis=1) for name, values in measured.items()}
    best = max(both, key=lambda name: both[name].mean())
    difference = both[best] - both["uniform"]
    error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else float("inf")
    gain = float(difference.mean())
    if best == "uniform" or gain <= margin * error:
        return Choice(
            "uniform", f"nothing beats uniform weights beyond noise (best: {best}, {gain:+.4f} +- {error:.4f})"
        )
    return Choice(best, f"best held-out mean of nDCG@10 and Recall@10: {gain:+.4f} +- {error:.4f} above uniform")
