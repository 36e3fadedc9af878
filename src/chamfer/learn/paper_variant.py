"""Readings of the paper's training details, of which the recipe ``paper`` is one.

The paper does not say which tokens sum to 1, and ``benchmarks/paper_study.py`` compares what else can be varied.
Tokens that occur in no training query keep their IDF; the others together weigh as much as under IDF.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.paper_loss import PaperLoss
from chamfer.learn.paper_optimisers import Minimum, adam, free_optimum, optimum
from chamfer.learn.presets import PAPER, Preset
from chamfer.weights.token_weights import TokenWeights


@dataclass(frozen=True)
class Variant:
    """How to fit the paper's loss; the defaults are those of the recipe ``paper``.

    Args:
        preset: share of the first loss, and numbers of negatives.
        total: which tokens sum to 1: those ``seen`` in queries, or ``all`` of the vocabulary; ``free`` for no such
            constraint, which only an optimum can do without.
        temperature: factor of all scores.
        fixed_negatives: whether the negatives are picked once, under uniform weights, instead of at every step.
        optimiser: ``adam`` as published, or ``convex`` for the optimum.
    """

    preset: Preset = field(default_factory=Preset)
    total: Literal["seen", "all", "free"] = "seen"
    temperature: float = 1.0
    fixed_negatives: bool = False
    optimiser: Literal["adam", "convex"] = "adam"

    def __post_init__(self) -> None:
        if self.total == "free" and self.optimiser == "adam":
            raise InputError("Adam with published rates needs weights that sum to 1; use total='seen' or 'all'")


class FittedVariant(NamedTuple):
    """Weights and how they were found."""

    weights: TokenWeights
    minimum: Minimum
    """Before they were scaled like IDF."""


def fit_variant(queries: Sequence[JudgedQuery], idf: TokenWeights, variant: Variant) -> FittedVariant:
    """Fit the paper's loss.

    Args:
        queries: judged queries with their minima.
        idf: IDF weights of the corpus, for tokens that occur in no query.
        variant: how.
    """
    by_adam = variant.optimiser == "adam"
    loss = PaperLoss(
        queries,
        variant.preset,
        temperature=variant.temperature,
        fixed_negatives=variant.fixed_negatives,
        share_ties=not by_adam,  # the recipe has always counted each
        dtype=np.float32 if by_adam else np.float64,
    )
    tokens = len(loss.seen)
    if variant.total == "free":
        found = free_optimum(loss, tokens)
    else:
        outside = len(idf.table) - tokens if variant.total == "all" else 0
        found = (adam if by_adam else optimum)(loss, tokens, outside=outside)
    return FittedVariant(_with_idf_elsewhere(found.weights, loss.seen, idf, variant.preset), found)


def _with_idf_elsewhere(
    weights: npt.NDArray[np.float64], seen: npt.NDArray[np.int32], idf: TokenWeights, preset: Preset
) -> TokenWeights:
    table = idf.table.copy()
    mass = float(table[seen].sum(dtype=np.float64))
    total = float(weights.sum())  # 0 where every token of a query was clipped and the others share the sum of 1
    table[seen] = weights * ((mass if mass > 0 else 1.0) / (total if total > 0 else 1.0))
    made = {**idf.metadata, "recipe": PAPER, **preset._asdict(), "seen": len(seen)}
    return TokenWeights(table, idf.vocabulary, made)
