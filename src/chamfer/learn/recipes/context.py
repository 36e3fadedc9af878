"""The recipe ``context``: like ``prior``, and a direction in the encoder's space that scales weights by context."""

from chamfer.learn.presets import Preset
from chamfer.learn.recipe import Recipe
from chamfer.learn.solver import CONTEXT, PENALTIES, PenaltyConfiguration, fit_sequence
from chamfer.learn.start import SOFT

CONTEXT_PENALTIES = (10.0, 1.0)


def grid(*, alone: bool, preset: Preset | None) -> list[PenaltyConfiguration]:
    """Return every pair of penalties."""
    return [
        PenaltyConfiguration(SOFT.name, penalty, context_penalty, recipe=CONTEXT)
        for penalty in PENALTIES
        for context_penalty in CONTEXT_PENALTIES
    ]


RECIPE = Recipe(
    CONTEXT,
    order=3,
    legend="prior, token penalty, context penalty",
    grid=grid,
    fit=fit_sequence,
    blends=False,
    hyperparameters=("penalty", "context_penalty"),
)
