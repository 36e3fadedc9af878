"""The recipe ``mix``: like ``context``, and how much lexical and pooled evidence counts."""

from chamfer.learn.presets import Preset
from chamfer.learn.recipe import Recipe
from chamfer.learn.solver import MIXED, PENALTIES, PenaltyConfiguration, fit_sequence
from chamfer.learn.start import MIX

CONTEXT_PENALTIES = (10.0, 1.0)


def grid(*, alone: bool, preset: Preset | None) -> list[PenaltyConfiguration]:
    """Return every pair of penalties."""
    return [
        PenaltyConfiguration(MIX.name, penalty, context_penalty, recipe=MIXED)
        for penalty in PENALTIES
        for context_penalty in CONTEXT_PENALTIES
    ]


RECIPE = Recipe(
    MIXED,
    order=4,
    legend="prior, token penalty, context penalty",
    grid=grid,
    fit=fit_sequence,
    hyperparameters=("penalty", "context_penalty"),
)
