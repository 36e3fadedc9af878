"""The recipes, discovered from their files, and the configurations to try."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from chamfer.learn.judged import JudgedQuery
from chamfer.learn.presets import Preset
from chamfer.learn.recipe import Configuration, Recipe
from chamfer.learn.recipe_names import NAMES
from chamfer.learn.start import IDF, MIX, SOFT, UNIFORM

# Configurations are tried in the order of the weights that they start from.
STARTS = (IDF.name, SOFT.name, UNIFORM.name, MIX.name)


@cache
def all_recipes() -> Mapping[str, Recipe[Any]]:
    """Return every recipe by name, in the order of reports."""
    found: list[Recipe[Any]] = [import_module(f"chamfer.learn.recipes.{name}").RECIPE for name in NAMES]
    return {recipe.name: recipe for recipe in sorted(found, key=lambda recipe: recipe.order)}


def blended_recipes(queries: Sequence[JudgedQuery]) -> list[str]:
    """Return the names of the recipes that ``auto`` blends, given the queries to learn from."""
    vectors = all(query.has_evidence for query in queries)
    return [name for name, recipe in all_recipes().items() if recipe.blends and (vectors or not recipe.needs_vectors)]


def hyperparameters() -> tuple[str, ...]:
    """Return the names under which recipes record their hyper-parameters in the metadata of weights."""
    return tuple(dict.fromkeys(name for recipe in all_recipes().values() for name in recipe.hyperparameters))


def configurations_of(recipes: Sequence[str], preset: Preset | None = None) -> list[Configuration]:
    """Return the configurations to try for some recipes.

    Args:
        recipes: names of recipes.
        preset: hyper-parameters for the recipe ``paper``.
    """
    chosen = [recipe for recipe in all_recipes().values() if recipe.name in recipes]
    found: list[Configuration] = [
        one for recipe in chosen for one in recipe.grid(alone=len(chosen) == 1, preset=preset)
    ]
    return sorted(found, key=lambda one: STARTS.index(one.start))
