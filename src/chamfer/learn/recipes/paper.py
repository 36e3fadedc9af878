"""The recipe ``paper``, which follows the paper's training details.

The loss of a query is ``alpha * CE(L1) + (1 - alpha) * CE(L2)``: the cross-entropy of the relevant documents against
the ``|L1|`` closest and the ``|L2|`` closest negatives under the current weights, mined again in every iteration. Adam
runs 100 iterations from uniform weights, with a learning rate that falls from 1e-4 to 1e-8 on a cosine. After every
step, weights are clipped at 0 and scaled to sum to 1. Tokens that occur in no training query keep their IDF; the
others sum to what they sum to under IDF. The paper does not say which tokens sum to 1; here it is those in queries.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import cross_entropy, pack, slots_of, tokens_seen
from chamfer.learn.presets import PAPER, PRESETS, Preset
from chamfer.learn.recipe import Recipe
from chamfer.learn.start import IDF, IDF_WITHOUT_SPECIAL, Start
from chamfer.weights.token_weights import TokenWeights

ITERATIONS = 100
FIRST_RATE, LAST_RATE = 1e-4, 1e-8


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
    preset = preset or Preset()
    blocks = pack(queries, with_vectors=False)
    seen = tokens_seen(queries)
    slots = [slots_of(block, seen) for block in blocks]
    weights = np.full(len(seen), 1 / len(seen))
    mean, square = np.zeros(len(seen)), np.zeros(len(seen))
    for step in range(1, ITERATIONS + 1):
        gradient = np.zeros(len(seen) + 1)
        padded = np.append(weights, 0).astype(np.float32)
        for block, slot in zip(blocks, slots, strict=True):
            share = 1 / block.is_token.sum(axis=1, keepdims=True, dtype=np.float32)
            scores = -np.matmul(block.distances, (padded[slot] * share)[:, :, None])[:, :, 0]
            of_scores = np.zeros_like(scores)
            for part, negatives in ((preset.alpha, preset.closest), (1 - preset.alpha, preset.closer)):
                if part > 0:
                    of_scores += part * cross_entropy(scores, block.relevant, block.is_candidate, negatives)[1]
            # The paper sums over the relevant documents of a query; our loss takes their mean.
            of_scores *= block.relevant.sum(axis=1, keepdims=True)
            of_tokens = -np.matmul(of_scores[:, None, :], block.distances)[:, 0, :] * share
            gradient += np.bincount(slot.ravel(), of_tokens.ravel(), len(gradient))
        mean = 0.9 * mean + 0.1 * gradient[:-1]
        square = 0.999 * square + 0.001 * gradient[:-1] ** 2
        rate = LAST_RATE + (FIRST_RATE - LAST_RATE) * (1 + math.cos(math.pi * (step - 1) / ITERATIONS)) / 2
        adam = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        moved = np.maximum(weights - rate * adam, 0)
        if moved.sum() > 0:
            weights = moved / moved.sum()
    return _with_idf_elsewhere(weights, seen, idf, preset)


def _with_idf_elsewhere(
    weights: npt.NDArray[np.float64], seen: npt.NDArray[np.int32], idf: TokenWeights, preset: Preset
) -> TokenWeights:
    table = idf.table.copy()
    mass = float(table[seen].sum(dtype=np.float64))
    table[seen] = weights * (mass if mass > 0 else 1.0)
    made = {**idf.metadata, "recipe": PAPER, **preset._asdict(), "seen": len(seen)}
    return TokenWeights(table, idf.vocabulary, made)


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
