"""The recipe ``adapter``: like ``mix``, and a low-rank map of query vectors."""

from chamfer.learn.adapter import ADAPTER, PENALTIES, AdapterConfiguration, fit_adapters
from chamfer.learn.presets import Preset
from chamfer.learn.recipe import Recipe


def grid(*, alone: bool, preset: Preset | None) -> list[AdapterConfiguration]:
    """Return every penalty."""
    return [AdapterConfiguration(penalty) for penalty in PENALTIES]


RECIPE = Recipe(
    ADAPTER,
    order=5,
    legend="prior, adapter penalty",
    grid=grid,
    fit=fit_adapters,
    needs_vectors=True,
    hyperparameters=("adapter_penalty",),
)
