"""The recipe ``auto``: fit every configuration, and blend all of them by the evidence for each."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from chamfer.learn.blend import blend
from chamfer.learn.folds import ADAPTED, Fold, FoldWeights, fit_folds, measure_folds
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.quality import Quality, quality
from chamfer.learn.recipe import Configuration, Contender
from chamfer.learn.selection import BLEND, FALLBACK, shares_of
from chamfer.learn.splits import Labels
from chamfer.learn.start import UNIFORM_MIX, Start
from chamfer.support.progress import Progress, quiet
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import IN_PROCESS, Workers

Divide = Callable[[Sequence[JudgedQuery]], list[Fold]]
"""Divides queries into folds; returns none if there are too few."""

Fitted = Mapping[Contender, Sequence[TokenWeights]]
"""Weights of each contender, one for each fold."""


class Blended(NamedTuple):
    """The blend, and what it was made from."""

    weights: TokenWeights
    shares: Mapping[Contender, float]
    """Share of each contender in the blend."""
    measured: Mapping[Contender, Quality]
    """Quality of everything on held-out queries, the blend among it; empty if there are too few queries to hold out."""
    folds: int
    """Number of folds that these queries were divided into."""
    without: tuple[FoldWeights, ...] = ()
    """The blend of each fold, if it was measured by cross-validation."""


def fit_auto(
    queries: Sequence[JudgedQuery],
    start: Start,
    configurations: Sequence[Configuration],
    divide: Divide,
    groups: Labels,
    *,
    validation: Sequence[JudgedQuery] = (),
    measure: bool = True,
    progress: Progress = quiet,
    workers: Workers = IN_PROCESS,
) -> Blended:
    """Fit every configuration, weigh the evidence for each, and blend.

    Evidence comes from queries that the weights were not fitted to. The blend itself is measured on each fold with the
    evidence of the other folds.

    Args:
        queries: judged queries with their minima.
        start: weights that need no labels.
        configurations: what to fit.
        divide: divides queries into folds.
        groups: group of each query to weigh the evidence on; queries of one group are not independent.
        validation: queries to weigh the evidence on, instead of folds.
        measure: whether to measure the blend.
        progress: shows the progress.
        workers: processes that fit the configurations.
    """
    everything = [*queries, *validation]
    outer = [Fold(queries, validation, np.arange(len(validation)))] if validation else divide(queries)
    folds = [Fold(everything, (), np.arange(0)), *outer]
    with progress("fitting weights", len(configurations) * len(folds)) as advance:
        fitted: Fitted = {
            FALLBACK: [start.mix] * len(folds),
            UNIFORM_MIX: [start.uniform_mix] * len(folds),
            **fit_folds(folds, start, configurations, advance, workers=workers),
        }
    of_outer = _part(fitted, 1, len(outer))
    measured = measure_folds(outer, of_outer) if outer else {}
    shares = _shares(measured, groups, fitted)
    without: list[FoldWeights] = []
    if measured and measure:
        measured[BLEND] = np.zeros_like(measured[FALLBACK])
        if validation:
            _measure_in_parts(measured, groups, of_outer, divide(validation))
        else:
            for at, fold in enumerate(outer):
                blended = _blend(_part(of_outer, at, 1), _shares(*_without(measured, groups, fold), fitted))
                measured[BLEND][fold.places] = quality(fold.held_out, blended, adapted=ADAPTED)
                without.append(FoldWeights.of(fold, blended))
    return Blended(_blend(_part(fitted, 0, 1), shares), shares, measured, len(outer), tuple(without))


def _measure_in_parts(
    measured: dict[Contender, Quality], groups: Labels, fitted: Fitted, parts: Sequence[Fold]
) -> None:
    """Measure the blend on each part of the validation queries, with the evidence of the others."""
    if not parts:  # all belong together, so none can be held out
        del measured[BLEND]
    for part in parts:
        blended = _blend(fitted, _shares(*_without(measured, groups, part), fitted))
        measured[BLEND][part.places] = quality(part.held_out, blended, adapted=ADAPTED)


def _without(
    measured: Mapping[Contender, Quality], groups: Labels, part: Fold
) -> tuple[dict[Contender, Quality], Labels]:
    """What was measured of everything but the blend, on all queries but those of one part, and their groups."""
    rest = {one: np.delete(values, part.places, axis=0) for one, values in measured.items() if one != BLEND}
    return rest, np.delete(groups, part.places)


def _shares(measured: Mapping[Contender, Quality], groups: Labels, fitted: Fitted) -> dict[Contender, float]:
    contenders = [one for one in fitted if one != FALLBACK]
    if not measured:
        return shares_of(dict.fromkeys(fitted, np.zeros((0, 2))), contenders, groups[:0])
    return shares_of(measured, contenders, groups)


def _part(fitted: Fitted, first: int, count: int) -> dict[Contender, Sequence[TokenWeights]]:
    return {one: weights[first : first + count] for one, weights in fitted.items()}


def _blend(fitted: Fitted, shares: Mapping[Contender, float]) -> TokenWeights:
    return blend([fitted[one][0] for one in shares], list(shares.values()))
