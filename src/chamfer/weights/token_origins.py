"""Where the weight of each token comes from: document frequencies, judged queries, a person, or none of these."""

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from chamfer.weights.changes import BY_HAND, LEARNT
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.names import COUNTED
from chamfer.weights.token_weights import TokenWeights
from chamfer.weights.zero_shot import UNIFORM

TokenOrigin = Literal["edited", "learnt", "uniform", "special", "unseen", "counted", "given"]
"""Set by hand; learnt; the same for all tokens; that of special tokens; that of tokens in no document; computed from
document frequencies; or as somebody gave it, without saying more."""

ORIGINS: tuple[TokenOrigin, ...] = get_args(TokenOrigin)


def are_learnt(weights: TokenWeights) -> bool:
    """Whether weights were learnt from judged queries."""
    made = weights.metadata
    # What learning starts from says how many queries it was for, too; and a recipe shares its name with the mix.
    return "learnt_from" in made and ("prior" in made or made.get("recipe") not in (UNIFORM, *COUNTED))


def token_origins(weights: TokenWeights, frequencies: DocumentFrequencies) -> npt.NDArray[np.uint8]:
    """``(vocabulary,)`` the place of each token's origin in :data:`ORIGINS`.

    Learning moves the weights of tokens that occur in judged queries by their evidence. All others still follow from
    document frequencies, so that is where they come from.

    Args:
        weights: the weights.
        frequencies: document frequencies of the index that they are used with.
    """
    recipe, size = weights.metadata.get("recipe"), len(weights.table)
    kinds = np.zeros(size, np.uint8) if weights.changes is None else weights.changes.kinds
    is_recorded = (kinds == LEARNT).any() if are_learnt(weights) else recipe in COUNTED
    if recipe == UNIFORM:
        found = np.full(size, ORIGINS.index("uniform"), np.uint8)
    elif is_recorded:
        found = np.full(size, ORIGINS.index("counted"), np.uint8)
        found[frequencies.counts == 0] = ORIGINS.index("unseen")
        found[weights.vocabulary.is_special] = ORIGINS.index("special")
    else:
        found = np.full(size, ORIGINS.index("given"), np.uint8)
    found[kinds == LEARNT] = ORIGINS.index("learnt")
    found[kinds == BY_HAND] = ORIGINS.index("edited")
    return found
