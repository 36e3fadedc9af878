"""Weights fitted to some queries and measured on others."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.candidates import Candidate, Start, alike_of, fit_candidates
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.quality import Quality, quality
from chamfer.progress import Advance, ignore
from chamfer.threads import in_threads
from chamfer.weights import TokenWeights


class Trial(NamedTuple):
    """Queries to fit to, and others to measure on, which have places among all that are measured."""

    train: Sequence[JudgedQuery]
    held_out: Sequence[JudgedQuery]
    places: npt.NDArray[np.int64]


def cross_validation(queries: Sequence[JudgedQuery], *, folds: int = 3, seed: int = 0) -> list[Trial]:
    """Trials in which every query is held out once."""
    if folds < 2:
        raise InputError(f"cross-validation needs at least 2 folds, not {folds}")
    if len(queries) < folds:
        raise InputError(
            f"{folds} folds need at least {folds} judged queries that something can be learnt from, not "
            f"{len(queries)}; judge more, hold fewer out, or ask for fewer folds"
        )
    fold_of = np.random.default_rng(seed).permutation(len(queries)) % folds
    trials = []
    for fold in range(folds):
        train, held_out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        trials.append(Trial([queries[int(at)] for at in train], [queries[int(at)] for at in held_out], held_out))
    return trials


def fit_trials(
    trials: Sequence[Trial], start: Start, candidates: Sequence[Candidate], advance: Advance = ignore
) -> dict[str, list[TokenWeights]]:
    """Fit every candidate in every trial; by the name of the candidate, its weights of each trial."""

    def fit(task: tuple[Trial, list[Candidate]]) -> dict[str, TokenWeights]:
        found = {}
        for candidate, weights in fit_candidates(task[0].train, start, task[1]):
            found[candidate.name] = weights
            advance(1)
        return found

    fitted: dict[str, list[TokenWeights]] = {candidate.name: [] for candidate in candidates}
    for found in in_threads(fit, [(trial, some) for trial in trials for some in alike_of(candidates)]):
        for name, weights in found.items():
            fitted[name].append(weights)
    return fitted


def measure_trials(trials: Sequence[Trial], weights: Mapping[str, Sequence[TokenWeights]]) -> dict[str, Quality]:
    """Measure weights, one for each trial, on the queries that the trial holds out."""

    def measure(of_each: Sequence[TokenWeights]) -> Quality:
        values = np.zeros((sum(len(trial.places) for trial in trials), 2))
        for trial, own in zip(trials, of_each, strict=True):
            values[trial.places] = quality(trial.held_out, own)
        return values

    return dict(zip(weights, in_threads(measure, weights.values()), strict=True))
