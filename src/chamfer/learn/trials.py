"""Weights fitted to some queries and measured on others."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.quality import Quality, quality
from chamfer.learn.recipes import Candidate, Start, alike_of, fit_candidates
from chamfer.support.progress import Advance, ignore
from chamfer.support.threads import map_in_threads
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import IN_PROCESS, Table, Workers


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
    trials: Sequence[Trial],
    start: Start,
    candidates: Sequence[Candidate],
    advance: Advance = ignore,
    *,
    workers: Workers = IN_PROCESS,
) -> dict[str, list[TokenWeights]]:
    """Fit every candidate in every trial; by the name of the candidate, its weights of each trial."""
    alike = alike_of(candidates)
    tasks = [(trial, some) for trial in range(len(trials)) for some in range(len(alike))]
    together = len(tasks) if workers.at_once == 1 else 1  # threads of one process share a table of all
    tables: Iterator[Table] = (
        {"trial": [trial for trial, _ in part], "alike": [some for _, some in part]}
        for part in (tasks[at : at + together] for at in range(0, len(tasks), together))
    )
    job = FitCandidates([trial.train for trial in trials], start, alike)
    fitted: dict[str, list[TokenWeights]] = {candidate.name: [] for candidate in candidates}
    for table in workers.map(job, tables, advance=advance):
        columns = (table[name] for name in ("candidate", "table", "context", "made"))
        for name, weights, context, made in zip(*columns, strict=True):
            fitted[name].append(
                TokenWeights(
                    np.frombuffer(weights, np.float32),
                    start.uniform.vocabulary,
                    json.loads(made),
                    None if context is None else np.frombuffer(context, np.float32),
                )
            )
    return fitted


class FitCandidates(NamedTuple):
    """A job: numbers of trials and of groups of candidates that are fitted one from the other in, weights out."""

    train: Sequence[Sequence[JudgedQuery]]
    start: Start
    alike: Sequence[Sequence[Candidate]]

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""

        def fit(task: tuple[int, int]) -> list[tuple[str, TokenWeights]]:
            found = []
            for candidate, weights in fit_candidates(self.train[task[0]], self.start, self.alike[task[1]]):
                found.append((candidate.name, weights))
                advance(1)
            return found

        tasks = zip(table["trial"], table["alike"], strict=True)
        fitted = [one for found in map_in_threads(fit, tasks) for one in found]
        return {
            "candidate": [name for name, _ in fitted],
            "table": [weights.table.tobytes() for _, weights in fitted],
            "context": [None if weights.context is None else weights.context.tobytes() for _, weights in fitted],
            "made": [json.dumps(dict(weights.metadata)) for _, weights in fitted],
        }


def measure_trials(trials: Sequence[Trial], weights: Mapping[str, Sequence[TokenWeights]]) -> dict[str, Quality]:
    """Measure weights, one for each trial, on the queries that the trial holds out."""

    def measure(of_each: Sequence[TokenWeights]) -> Quality:
        values = np.zeros((sum(len(trial.places) for trial in trials), 2))
        for trial, own in zip(trials, of_each, strict=True):
            values[trial.places] = quality(trial.held_out, own)
        return values

    return dict(zip(weights, map_in_threads(measure, weights.values()), strict=True))
