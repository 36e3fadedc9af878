"""Several good weights make one that is better than each: their noise differs, what they agree on stays."""

from collections.abc import Sequence

import numpy as np

from chamfer.weights import TokenWeights

# A weight of 0 would silence a token whatever the others say.
LEAST = 1e-6


def blend(several: Sequence[TokenWeights]) -> TokenWeights:
    """Give the geometric mean of weights for one vocabulary.

    ``w(t, q) = exp(mean over several of log w(t, q))``; as every ``log w`` is ``log table[t] + <u, q>``, the mean is
    one table and one direction again, and scoring costs what it did.
    """
    logs = np.mean([np.log(np.maximum(one.table, LEAST, dtype=np.float64)) for one in several], axis=0)
    directions = [one.context for one in several if one.context is not None]
    context = (np.sum(directions, axis=0) / len(several)).astype(np.float32) if directions else None
    made = {**several[0].metadata, "recipe": "blend", "converged": all(one.metadata["converged"] for one in several)}
    for of_one in ("prior", "penalty", "context_penalty"):
        made.pop(of_one, None)
    return TokenWeights(np.exp(logs).astype(np.float32), several[0].vocabulary, made, context)
