"""Blend several weightings into one that is better than each: noise averages out, agreement stays."""

from collections.abc import Sequence

import numpy as np

from chamfer.errors import InputError
from chamfer.learn.registry import hyperparameters
from chamfer.weights.token_weights import TokenWeights


def blend(several: Sequence[TokenWeights]) -> TokenWeights:
    """Return the geometric mean of positive weights for one vocabulary.

    ``w(t, q) = exp(mean over several of log w(t, q))``. Every ``log w`` is ``log table[t] + <u, q>``, so the mean is
    again one table and one direction, and scoring costs no more.
    """
    if not several or any((one.table <= 0).any() for one in several):
        raise InputError("only weights above 0 can be blended, and at least one weighting is needed")
    logs = np.mean([np.log(one.table, dtype=np.float64) for one in several], axis=0)
    directions = [one.context for one in several if one.context is not None]
    context = (np.sum(directions, axis=0) / len(several)).astype(np.float32) if directions else None
    own = ("recipe", "prior", *hyperparameters())  # metadata of a single weighting, which does not hold for the blend
    made = {
        **{key: value for key, value in several[0].metadata.items() if key not in (*own, "power", "converged")},
        "recipe": "blend",
        "members": [{key: one.metadata[key] for key in own if key in one.metadata} for one in several],
        "converged": all(one.metadata.get("converged", True) for one in several),
    }
    return TokenWeights(np.exp(logs).astype(np.float32), several[0].vocabulary, made, context)
