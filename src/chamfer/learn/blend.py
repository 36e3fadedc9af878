"""Blend several weightings into one that is better than each: noise averages out, agreement stays."""

from collections.abc import Sequence

import numpy as np

from chamfer.errors import InputError
from chamfer.learn.registry import hyperparameters
from chamfer.weights.token_weights import TokenWeights


def blend(several: Sequence[TokenWeights], shares: Sequence[float]) -> TokenWeights:
    """Return the geometric mean of positive weights for one vocabulary, each with its share.

    ``w(t, q) = exp(sum over several of share * log w(t, q))``. Every ``log w`` is ``log table[t] + <u, q>``, so the
    mean is again one table and one direction, and scoring costs no more.

    Args:
        several: weights to blend.
        shares: the share of each; they sum to 1.
    """
    if not several or any((one.table <= 0).any() for one in several):
        raise InputError("only weights above 0 can be blended, and at least one weighting is needed")
    logs = np.zeros(len(several[0].table))
    context = None
    for one, share in zip(several, shares, strict=True):
        logs += share * np.log(one.table, dtype=np.float64)
        if one.context is not None:
            context = share * one.context.astype(np.float64) + (0 if context is None else context)
    own = ("recipe", "prior", *hyperparameters())  # metadata of a single weighting, which does not hold for the blend
    made = {
        **{key: value for key, value in several[0].metadata.items() if key not in (*own, "power", "converged")},
        "recipe": "blend",
        "members": [
            {"share": round(share, 4), **{key: one.metadata[key] for key in own if key in one.metadata}}
            for one, share in zip(several, shares, strict=True)
        ],
        "converged": all(one.metadata.get("converged", True) for one in several),
    }
    direction = None if context is None else context.astype(np.float32)
    return TokenWeights(np.exp(logs).astype(np.float32), several[0].vocabulary, made, direction)
