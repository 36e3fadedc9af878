"""The recipe of the paper, to the letter of its training details.

The loss of a query is ``alpha * CE(L1) + (1 - alpha) * CE(L2)``, cross-entropy of the relevant documents against the
``|L1|`` closest and the ``|L2|`` closer negatives under the current weights, picked anew at every iteration. Adam,
learning rate 1e-4 falling to 1e-8 on a cosine, 100 iterations, from uniform weights; after every step weights are
made non-negative and to sum to 1. Tokens that no training query has keep their IDF, and the seen tokens share the
mass that they have under IDF. The paper does not say over which tokens the sum is 1; here it is over the seen ones.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import cross_entropy, pack, slots_of, tokens_seen
from chamfer.weights.token_weights import TokenWeights

ITERATIONS = 100
FIRST_RATE, LAST_RATE = 1e-4, 1e-8


class Preset(NamedTuple):
    """The hyper-parameters of the paper: the share of the first loss, and how many negatives each loss has."""

    alpha: float = 0.1
    closest: int = 10
    closer: int = 100


PRESETS: dict[str, Preset] = {
    "arguana": Preset(0, 0, 500),
    "climate-fever": Preset(0, 0, 1000),
    "dbpedia-entity": Preset(0.25, 5, 100),
    "fever": Preset(0.1, 10, 100),
    "fiqa": Preset(0.1, 10, 100),
    "hotpotqa": Preset(0.1, 100, 1000),
    "msmarcodocs": Preset(0.1, 100, 1000),
    "nq": Preset(0.75, 5, 100),
    "quora": Preset(0.1, 10, 100),
    "scidocs": Preset(0.5, 100, 250),
    "scifact": Preset(0.1, 50, 250),
    "trec-covid": Preset(0, 0, 100),
    "webis-touche2020": Preset(0, 0, 100),
}
"""The published hyper-parameters of each dataset."""


def fit_paper(queries: Sequence[JudgedQuery], idf: TokenWeights, preset: Preset | None = None) -> TokenWeights:
    """Learn weights as the paper does.

    Args:
        queries: judged queries with their minima.
        idf: IDF weights over the corpus, for tokens that no query has.
        preset: hyper-parameters; 0.1, 10 and 100 if not given.
    """
    preset = preset or Preset()
    if not 0 <= preset.alpha <= 1 or preset.closer < 1 or (preset.alpha > 0 and preset.closest < 1):
        raise InputError(f"alpha lies between 0 and 1 and each loss needs negatives, not {preset}")
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
            # The paper sums over the relevant documents of a query where our loss takes their mean.
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
    made = {**idf.metadata, "recipe": "paper", **preset._asdict(), "seen": len(seen)}
    return TokenWeights(table, idf.vocabulary, made)
