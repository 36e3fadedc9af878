"""Blend several weightings into one that is better than each: noise averages out, agreement stays."""

from collections.abc import Sequence

import numpy as np

from chamfer.errors import InputError
from chamfer.learn.registry import hyperparameters
from chamfer.weights.adapter import Adapter
from chamfer.weights.mix import EVIDENCE, Mix
from chamfer.weights.token_weights import TokenWeights


def blend(several: Sequence[TokenWeights], shares: Sequence[float]) -> TokenWeights:
    """Return the geometric mean of positive weights for one vocabulary, each with its share.

    ``w(t, q) = exp(sum over several of share * log w(t, q))``. Every ``log w`` is ``log table[t] + <u, q>``, so the
    mean is again one table and one direction, and scoring costs no more. Mixes and the maps of adapters are averaged
    as they are; adapters must share their directions.

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
    adapters = [(share, one.adapter) for one, share in zip(several, shares, strict=True) if one.adapter is not None]
    adapter = None
    if adapters:
        down = adapters[0][1].down
        if not all(np.array_equal(one.down, down) for _, one in adapters):
            raise InputError("adapters can be blended only if they share their directions")
        up = np.sum([share * one.up.astype(np.float64) for share, one in adapters], axis=0)
        adapter = Adapter(down, up.astype(np.float32))
    factors = {
        name: sum(share * getattr(one.mix, name) for one, share in zip(several, shares, strict=True))
        for name in EVIDENCE
    }
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
    table = np.exp(logs).astype(np.float32)
    return TokenWeights(table, several[0].vocabulary, made, direction, adapter, Mix(**factors))
