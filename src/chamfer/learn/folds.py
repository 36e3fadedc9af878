"""Folds: weights fitted to some queries and measured on others."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.evaluate.groups import DOCUMENT, group
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.learn.fitting import fit_configurations, sequences_of
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.quality import Quality, quality
from chamfer.learn.recipe import Configuration, Contender
from chamfer.learn.registry import all_recipes
from chamfer.learn.splits import FOLDS, spread
from chamfer.learn.start import Start
from chamfer.support.progress import Advance, ignore
from chamfer.support.threads import map_in_threads
from chamfer.weights.files import read_weights, weights_bytes
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import IN_PROCESS, Table, Workers

# Candidates of a held-out query that an adapter ranks; ranking all would take longer than fitting.
ADAPTED = 200


class Fold(NamedTuple):
    """Queries to fit to, and held-out queries to measure on, with their places among all measured queries."""

    train: Sequence[JudgedQuery]
    held_out: Sequence[JudgedQuery]
    places: npt.NDArray[np.int64]


class FoldWeights(NamedTuple):
    """Weights that were learnt like the result, but without the queries of one fold."""

    weights: TokenWeights
    """The weights."""
    held_out: tuple[str, ...]
    """Ids of the queries that they were not fitted to."""

    @classmethod
    def of(cls, fold: Fold, weights: TokenWeights) -> "FoldWeights":
        """Internal: the weights that were learnt without a fold."""
        return cls(weights, tuple(query.query_id for query in fold.held_out))


def folds_if_possible(
    queries: Sequence[JudgedQuery],
    *,
    folds: int = FOLDS,
    group_by: str = DOCUMENT,
    decided: bool = False,
    seed: int = 0,
) -> list[Fold]:
    """Divide queries into folds, into fewer if there are few groups of queries, and into none if there is only one."""
    groups = group(queries, group_by, decided=decided).groups
    if groups < 2:
        return []
    return cross_validation(queries, folds=min(folds, groups), group_by=group_by, decided=decided, seed=seed)


def cross_validation(
    queries: Sequence[JudgedQuery],
    *,
    folds: int = FOLDS,
    group_by: str = DOCUMENT,
    decided: bool = False,
    seed: int = 0,
) -> list[Fold]:
    """Divide queries into folds at random; every query is held out once.

    Args:
        queries: judged queries.
        folds: number of folds.
        group_by: what queries of different folds do not share; see :func:`chamfer.evaluate.groups.group`.
        decided: whether that was decided on more queries, of which these are some.
        seed: random seed.
    """
    if folds < 2:
        raise InputError(f"cross-validation needs at least 2 folds, not {folds}")
    grouping = group(queries, group_by, decided=decided)
    if grouping.groups < folds:
        raise InputError(
            f"{folds} folds need at least {folds} judged queries that can be learnt from and share nothing, not "
            f"{grouping.groups}; judge more, hold out fewer, or use fewer folds"
        )
    fold_of = spread(grouping.labels, folds, seed=seed)
    found = []
    for fold in range(folds):
        train, held_out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        found.append(Fold([queries[int(at)] for at in train], [queries[int(at)] for at in held_out], held_out))
    return found


def fit_folds(
    folds: Sequence[Fold],
    start: Start,
    configurations: Sequence[Configuration],
    advance: Advance = ignore,
    *,
    workers: Workers = IN_PROCESS,
) -> dict[Contender, list[TokenWeights]]:
    """Fit every configuration in every fold.

    Returns:
        The weights of each configuration, one for each fold.
    """
    sequences = sequences_of(configurations)
    tasks = [(fold, sequence) for fold in range(len(folds)) for sequence in range(len(sequences))]
    # In one process, threads share the work of a single table.
    per_table = len(tasks) if workers.at_once == 1 else 1
    tables: Iterator[Table] = (
        {"fold": [fold for fold, _ in part], "sequence": [sequence for _, sequence in part]}
        for part in (tasks[at : at + per_table] for at in range(0, len(tasks), per_table))
    )
    train = [fold.train for fold in folds]
    if workers.at_once > 1 and not any(all_recipes()[one.recipe].needs_vectors for one in configurations):
        # Other machines need not see the index or the cache then.
        train = [[replace(query, vectors_of=None) for query in part] for part in train]
    job = FitConfigurations(train, start, sequences)
    fitted: dict[Contender, list[TokenWeights]] = {one: [] for one in configurations}
    for table in workers.map(job, tables, advance=advance):
        columns = (table[name] for name in ("sequence", "place", "weights"))
        for sequence, place, content in zip(*columns, strict=True):
            read = read_weights(BytesIO(content), "fitted weights", start.uniform.vocabulary)
            fitted[sequences[sequence][place]].append(TokenWeights(*read))
    return fitted


class FitConfigurations(NamedTuple):
    """Job: a table of folds and sequences of configurations -> the weights of each configuration."""

    train: Sequence[Sequence[JudgedQuery]]
    start: Start
    sequences: Sequence[Sequence[Configuration]]

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""

        def fit(task: tuple[int, int]) -> list[tuple[int, int, TokenWeights]]:
            fold, sequence = task
            found = []
            fitted = fit_configurations(self.train[fold], self.start, self.sequences[sequence])
            for place, (_, weights) in enumerate(fitted):
                found.append((sequence, place, weights))
                advance(1)
            return found

        tasks = zip(table["fold"], table["sequence"], strict=True)
        fitted = [one for found in map_in_threads(fit, tasks) for one in found]
        return {
            "sequence": [sequence for sequence, _, _ in fitted],
            "place": [place for _, place, _ in fitted],
            "weights": [weights_bytes(weights.content) for _, _, weights in fitted],
        }


def measure_folds(
    folds: Sequence[Fold], weights: Mapping[Contender, Sequence[TokenWeights]]
) -> dict[Contender, Quality]:
    """Measure weights, one for each fold, on the queries that the fold holds out."""

    def measure(of_each: Sequence[TokenWeights]) -> Quality:
        values = np.zeros((sum(len(fold.places) for fold in folds), len(MAIN_MEASURES)))
        for fold, own in zip(folds, of_each, strict=True):
            values[fold.places] = quality(fold.held_out, own, adapted=ADAPTED)
        return values

    return dict(zip(weights, map_in_threads(measure, weights.values()), strict=True))
