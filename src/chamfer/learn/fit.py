"""Judged queries -> the best weights that recipes can learn from them, and a report."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from chamfer.errors import InputError
from chamfer.evaluate.groups import DOCUMENT, group
from chamfer.learn.auto import Blended, fit_auto
from chamfer.learn.folds import Fold, FoldWeights, cross_validation, fit_folds, folds_if_possible, measure_folds
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.neighbours import forget
from chamfer.learn.objective import tokens_seen
from chamfer.learn.presets import Preset
from chamfer.learn.recipe import Configuration, Contender
from chamfer.learn.recipe_names import AUTO, check_recipe
from chamfer.learn.registry import all_recipes, blended_recipes, configurations_of
from chamfer.learn.report import LearningReport, make_report
from chamfer.learn.selection import BLEND, FALLBACK, Choice, against_fallback, choose_best
from chamfer.learn.splits import FOLDS, Labels
from chamfer.learn.start import Start
from chamfer.support.progress import Progress, quiet
from chamfer.weights.changes import LEARNT, changed
from chamfer.weights.learnt_queries import with_learnt_queries
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
    group_by: str = DOCUMENT,
    seed: int = 0,
    progress: Progress = quiet,
    workers: Workers = IN_PROCESS,
) -> Fitted:
    """Learn weights from judged queries, and choose them by their quality on queries they were not fitted to.

    Args:
        queries: judged queries with their minima.
        start: weights without labels.
        recipe: name of a recipe, whose hyper-parameters are chosen; ``auto`` blends the zero-shot mix with everything
            that can be learnt, by the evidence for each.
        validation: queries to choose on; cross-validation by default. What was chosen is fitted again to all queries.
        preset: hyper-parameters of the recipe ``paper``.
        folds: number of folds of the cross-validation.
        group_by: what queries of different folds must not share: ``text``, ``document`` or a field.
        seed: random seed of the folds and the bootstrap.
        progress: shows the progress.
        workers: processes that fit the configurations.
    """
    if not queries:
        raise InputError("learning needs at least one judged query")
    check_recipe(recipe)
    everything = [*queries, *validation]
    # What keeps queries together is decided once; folds, and parts of the validation, follow it.
    grouping = group(validation or queries, group_by)
    if recipe == AUTO:
        blended = fit_auto(
            queries,
            start,
            configurations_of(blended_recipes(everything)),
            partial(folds_if_possible, folds=folds, group_by=grouping.by, decided=True, seed=seed),
            grouping.labels,
            validation=validation,
            progress=progress,
            workers=workers,
        )
        weights, measured, shares = blended.weights, dict(blended.measured), blended.shares
        parts, without = blended.folds, blended.without
        choice = Choice(BLEND, _evidence(blended, grouping.labels))
        chosen: list[Configuration] = []
    else:
        configurations = configurations_of((recipe,), preset)
        divided = (
            [Fold(queries, validation, np.arange(len(validation)))]
            if validation
            else cross_validation(queries, folds=folds, group_by=grouping.by, decided=True, seed=seed)
        )
        with progress("fitting weights", len(configurations) * len(divided)) as advance:
            fitted = fit_folds(divided, start, configurations, advance, workers=workers)
        given: dict[Contender, Sequence[TokenWeights]] = {
            one: [own] * len(divided) for one, own in start.contenders().items()
        }
        everyone = {**given, **fitted}
        measured, shares, parts = measure_folds(divided, everyone), {}, len(divided)
        choice = choose_best(measured, configurations, all_recipes()[recipe].rivals)
        of_folds = () if validation else zip(divided, everyone[choice.contender], strict=True)
        without = tuple(FoldWeights.of(fold, own) for fold, own in of_folds)
        chosen = [one for one in configurations if one == choice.contender]
        if chosen:
            weights = fit_folds([Fold(everything, (), np.arange(0))], start, chosen, workers=workers)[chosen[0]][0]
        else:
            weights = given[choice.contender][0]
    if validation:
        measured_on = f"{len(validation)} of them for validation"
    elif measured:
        measured_on = f"{parts}-fold cross-validation, folds {grouping.sentence}"
    else:
        measured_on = "too few to hold any out"
    forget(everything)
    if choice.contender not in start.contenders():
        made = with_learnt_queries(weights.metadata, (query.ties.words for query in everything))
        learnt = changed(None, start.mix.table, tokens_seen(everything), LEARNT)
        weights = replace(weights, metadata=made, changes=learnt)
    report = make_report(
        everything, weights, choice, tuple(chosen), measured, shares, measured_on, grouping.labels, without, seed=seed
    )
    return Fitted(weights, report)


def _evidence(blended: Blended, groups: Labels) -> str:
    """What held-out queries say of the blend, in one sentence."""
    learnt = 1 - blended.shares[FALLBACK]
    share = f"{learnt:.0%} of the blend goes beyond the {FALLBACK.name}"
    found = against_fallback(blended.measured, BLEND, groups)
    if found is None:
        return f"{share}; there are too few queries to measure it on held-out ones"
    return (
        f"{share}; on {found.queries} held-out queries its mean of nDCG@10 and Recall@10 differs from its own by "
        f"{found.difference:+.4f} (p = {found.p_value:.4f})"
    )
