"""What is tried: recipes with their hyper-parameters, and how each is fitted."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple, Self

from chamfer.learn.blend import blend
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.paper import PRESETS, Preset, fit_paper
from chamfer.learn.prior import Learner
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.token_weights import TokenWeights

Recipe = Literal["paper", "prior", "context"]
RECIPES: tuple[Recipe, ...] = ("paper", "prior", "context")

PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3)
"""From stiff to loose, so that each solution starts the next."""
CONTEXT_PENALTIES = (10.0, 1.0)


class Start(NamedTuple):
    """Weights that need no label: what learning starts from and must beat."""

    uniform: TokenWeights
    idf: TokenWeights
    idf_without_special: TokenWeights
    """IDF with special tokens at 0; the paper takes the better of the two."""
    soft: TokenWeights

    @classmethod
    def counted(cls, frequencies: DocumentFrequencies, vocabulary: Vocabulary, made_from: Mapping[str, Any]) -> Self:
        """From document frequencies; ``made_from`` is kept in the metadata of all of them."""
        return cls(
            TokenWeights.uniform(vocabulary, made_from=made_from),
            TokenWeights.idf(frequencies, vocabulary, made_from=made_from),
            TokenWeights.idf(frequencies, vocabulary, special=0.0, made_from=made_from),
            TokenWeights.soft_idf(frequencies, vocabulary, made_from=made_from),
        )

    def by_name(self) -> dict[str, TokenWeights]:
        """The four under the names of reports."""
        return dict(zip(("uniform", "idf", "idf (special 0)", "idf-soft"), self, strict=True))


class Candidate(NamedTuple):
    """One recipe with its hyper-parameters."""

    recipe: Recipe
    prior: Literal["idf-soft", "uniform"] = "idf-soft"
    penalty: float = 3.0
    context_penalty: float | None = None
    preset: Preset = Preset()

    @property
    def name(self) -> str:
        """The recipe and what sets it apart from its like."""
        if self.recipe == "paper":
            return f"paper ({self.preset.alpha:g}, {self.preset.closest}, {self.preset.closer})"
        context = "" if self.context_penalty is None else f", {self.context_penalty:g}"
        return f"{self.recipe} ({self.prior}, {self.penalty:g}{context})"


def candidates_of(recipes: Sequence[Recipe], preset: Preset | None = None, *, search: bool = False) -> list[Candidate]:
    """List what is tried for some recipes.

    Args:
        recipes: which.
        preset: of the recipe ``paper``; 0.1, 10 and 100 if not given.
        search: try all published presets for ``paper``.
    """
    found: list[Candidate] = []
    if "paper" in recipes:
        presets = sorted(set(PRESETS.values())) if search and preset is None else [preset or Preset()]
        found += [Candidate("paper", preset=one) for one in presets]
    for prior in ("idf-soft", "uniform"):
        if "prior" in recipes:
            found += [Candidate("prior", prior, penalty) for penalty in PENALTIES]
        if "context" in recipes:
            found += [Candidate("context", prior, p, c) for p in PENALTIES for c in CONTEXT_PENALTIES]
    return found


def fit_candidates(
    queries: Sequence[JudgedQuery], start: Start, candidates: Sequence[Candidate]
) -> Iterator[tuple[Candidate, TokenWeights]]:
    """Fit candidates to some queries, one after the other; neighbours in the list start from each other."""
    for alike in alike_of(candidates):
        recipe, prior = alike[0][:2]
        if recipe == "paper":
            for candidate in alike:
                yield candidate, fit_paper(queries, start.idf, candidate.preset)
            continue
        learner = Learner(queries, start.soft if prior == "idf-soft" else start.uniform, context=recipe == "context")
        near = None
        for candidate in alike:
            near = learner.solve(candidate.penalty, candidate.context_penalty or 0.0, near)
            yield candidate, learner.weights(near)


def alike_of(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates that are fitted one from the other, in the order of the grid; those of ``paper`` stand alone."""

    def shared(candidate: Candidate) -> tuple[object, ...]:
        return candidate if candidate.recipe == "paper" else candidate[:2]

    return [list(alike) for _, alike in groupby(candidates, key=shared)]


def fit_blend(queries: Sequence[JudgedQuery], start: Start, candidates: Sequence[Candidate]) -> TokenWeights:
    """Fit candidates and join them."""
    return join([weights for _, weights in fit_candidates(queries, start, candidates)])


def join(fitted: Sequence[TokenWeights]) -> TokenWeights:
    """Blend the weights of several candidates; those of a single one stay as they are."""
    return fitted[0] if len(fitted) == 1 else blend(fitted)
