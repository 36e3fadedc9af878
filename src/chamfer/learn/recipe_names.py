"""The names of the recipes, read from the files of :mod:`chamfer.learn.recipes` without importing them."""

from pkgutil import iter_modules

from chamfer.errors import InputError
from chamfer.learn import recipes

AUTO = "auto"
"""Tries all recipes."""

NAMES = tuple(sorted(module.name for module in iter_modules(recipes.__path__) if not module.name.startswith("_")))
"""Names of all recipes."""


def check_recipe(name: str) -> None:
    """Raise an error if there is no such recipe; cheap enough to call before a model is loaded."""
    if name not in (AUTO, *NAMES):
        raise InputError(f"a recipe is {', '.join((AUTO, *NAMES))}, not {name!r}")
