"""The recipe ``paper``, which follows the paper's training details.

The negatives of both losses are mined again in every iteration. Adam runs 100 iterations from uniform weights, with a
learning rate that falls from 1e-4 to 1e-8 on a cosine. After every step, weights are clipped at 0 and scaled to sum to
1. The paper does not say which tokens sum to 1; here it is those in queries. What that makes of the recipe, and other
readings of it: docs/explanation/paper-recipe.md.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chamfer.learn.judged import JudgedQuery
from chamfer.learn.paper_variant import Variant, fit_variant
from chamfer.learn.presets import PAPER, PRESETS, Preset
from chamfer.learn.recipe import Recipe
from chamfer.learn.start import IDF, IDF_WITHOUT_SPECIAL, Start
from chamfer.weights.token_weights import TokenWeights


@dataclass(frozen=True)
class PaperConfiguration:
    """The recipe with one preset."""

    preset: Preset
    recipe: ClassVar[str] = PAPER
    start: ClassVar[str] = IDF.name

    @property
    def name(self) -> str:
        """The recipe and its hyper-parameters."""
        return f"{PAPER} ({', '.join(self.settings)})"

    @property
    def settings(self) -> tuple[str, ...]:
        """The preset."""
        return (f"{self.preset.alpha:g}", str(self.preset.closest), str(self.preset.closer))

    @property
    def sequence(self) -> Hashable:
        """Each is fitted on its own."""
        return self.preset


def grid(*, alone: bool, preset: Preset | None) -> list[PaperConfiguration]:
    """Return the given preset or, if there is none, all published ones; among other recipes, only the default one."""
    presets = sorted(set(PRESETS.values())) if alone and preset is None else [preset or Preset()]
    return [PaperConfiguration(one) for one in presets]


def fit(
    queries: Sequence[JudgedQuery], start: Start, configurations: Sequence[PaperConfiguration]
) -> Iterator[TokenWeights]:
    """Fit each configuration."""
    for one in configurations:
        yield fit_paper(queries, start.idf, one.preset)


def fit_paper(queries: Sequence[JudgedQuery], idf: TokenWeights, preset: Preset | None = None) -> TokenWeights:
    """Learn weights as the paper does.

    Args:
        queries: judged queries with their minima.
        idf: IDF weights of the corpus, for tokens that occur in no query.
        preset: hyper-parameters; 0.1, 10 and 100 by default.
    """
    return fit_variant(queries, idf, Variant(preset or Preset())).weights


# Its weights may be 0, which a geometric mean cannot blend.
RECIPE = Recipe(
    PAPER,
    order=1,
    legend="alpha, negatives of the first loss, negatives of the second loss",
    grid=grid,
    fit=fit,
    blends=False,
    rivals=(IDF, IDF_WITHOUT_SPECIAL),
)
