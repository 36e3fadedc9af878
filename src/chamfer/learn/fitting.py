"""Fit configurations to judged queries."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from chamfer.learn.blend import blend
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.recipe import Configuration
from chamfer.learn.registry import all_recipes
from chamfer.learn.start import Start
from chamfer.weights.token_weights import TokenWeights


def fit_configurations(
    queries: Sequence[JudgedQuery], start: Start, configurations: Sequence[Configuration]
) -> Iterator[tuple[Configuration, TokenWeights]]:
    """Fit configurations one after the other; those of one sequence start from each other's solutions."""
    for sequence in sequences_of(configurations):
        fitted = all_recipes()[sequence[0].recipe].fit(queries, start, sequence)
        yield from zip(sequence, fitted, strict=True)


def sequences_of(configurations: Sequence[Configuration]) -> list[list[Configuration]]:
    """Group neighbouring configurations that are fitted in sequence."""
    return [list(group) for _, group in groupby(configurations, key=lambda one: (one.recipe, one.sequence))]


def fit_blend(queries: Sequence[JudgedQuery], start: Start, configurations: Sequence[Configuration]) -> TokenWeights:
    """Fit configurations and blend their weights."""
    return combine([weights for _, weights in fit_configurations(queries, start, configurations)])


def combine(fitted: Sequence[TokenWeights]) -> TokenWeights:
    """Blend several weights; a single one is returned unchanged."""
    return fitted[0] if len(fitted) == 1 else blend(fitted)
