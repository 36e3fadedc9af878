"""Judged queries -> the best weights that recipes can learn from them, and a report."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chamfer.errors import InputError
from chamfer.learn.fitting import combine
from chamfer.learn.folds import Fold, cross_validation, fit_folds, measure_folds
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen
from chamfer.learn.presets import Preset
from chamfer.learn.recipe import Configuration, Contender
from chamfer.learn.recipe_names import AUTO, NAMES, check_recipe
from chamfer.learn.registry import all_recipes, configurations_of
from chamfer.learn.report import LearningReport, report_rows
from chamfer.learn.selection import BLEND, better_half, choose_best, choose_significant, measure_blend
from chamfer.learn.splits import FOLDS
from chamfer.learn.start import Start
from chamfer.support.progress import Progress, quiet
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import IN_PROCESS, Workers


class Fitted(NamedTuple):
    """Weights and how they were chosen."""

    weights: TokenWeights
    report: LearningReport


def fit_weights(
    queries: Sequence[JudgedQuery],
    start: Start,
    *,
    recipe: str = AUTO,
    validation: Sequence[JudgedQuery] = (),
    preset: Preset | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    progress: Progress = quiet,
    workers: Workers = IN_PROCESS,
) -> Fitted:
    """Learn weights from judged queries, and choose them by their quality on queries they were not fitted to.

    Args:
        queries: judged queries with their minima.
        start: uniform, IDF and softened IDF weights.
        recipe: name of a recipe, whose hyper-parameters are chosen; ``auto`` tries all recipes, blends the better half
            of their configurations, and returns uniform weights unless something beats them significantly.
        validation: queries to choose on; cross-validation by default. What was chosen is fitted again to all queries.
        preset: hyper-parameters of the recipe ``paper``.
        folds: number of folds of the cross-validation.
        seed: random seed of the folds, the tests and the bootstrap.
        progress: shows the progress.
        workers: processes that fit the configurations.
    """
    if not queries:
        raise InputError("learning needs at least one judged query")
    check_recipe(recipe)
    configurations = configurations_of(NAMES if recipe == AUTO else (recipe,), preset)
    if validation:
        divided = [Fold(queries, validation, np.arange(len(validation)))]
    else:
        divided = cross_validation(queries, folds=folds, seed=seed)
    with progress("fitting weights", len(configurations) * len(divided)) as advance:
        fitted = fit_folds(divided, start, configurations, advance, workers=workers)
    given = start.contenders()
    contenders: dict[Contender, Sequence[TokenWeights]] = {one: [own] * len(divided) for one, own in given.items()}
    measured = measure_folds(divided, {**contenders, **fitted})
    members: dict[Contender, list[Configuration]] = {one: [one] for one in configurations}
    if recipe == AUTO:
        # The best single configuration owes more to luck than the blend of the better half, so only the blend competes.
        blended = {one: weights for one, weights in fitted.items() if all_recipes()[one.recipe].blends}
        measured[BLEND] = measure_blend(divided, blended, measured)
        half = set(better_half(measured, list(blended)))
        members[BLEND] = [one for one in configurations if one in half]
        choice = choose_significant({one: own for one, own in measured.items() if one not in blended}, BLEND, seed=seed)
    else:
        choice = choose_best(measured, configurations, all_recipes()[recipe].rivals)
    everything = [*queries, *validation]
    chosen = members.get(choice.contender, [])
    if chosen:
        with progress("fitting the choice", len(chosen)) as advance:
            last = fit_folds([Fold(everything, (), np.arange(0))], start, chosen, advance, workers=workers)
        weights = combine([last[one][0] for one in chosen])
    else:
        weights = contenders[choice.contender][0]
    seen = tokens_seen(everything)
    heaviest, lightest = weights.extremes(10, among=seen)
    report = LearningReport(
        queries=len(everything),
        seen=len(seen),
        measured_on=f"{len(validation)} of them for validation" if validation else f"{folds}-fold cross-validation",
        choice=choice,
        members=tuple(chosen),
        converged=weights.metadata.get("converged", True),
        rows=report_rows(measured, seed=seed),
        heaviest=heaviest,
        lightest=lightest,
        special=[
            (weights.vocabulary.tokens[token], float(weights.table[token]))
            for token in seen
            if token in weights.vocabulary.special_ids
        ],
    )
    return Fitted(weights, report)
