"""Fit configurations to judged queries."""

from collections.abc import Iterator, Sequence
from itertools import groupby

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
