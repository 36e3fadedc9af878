"""The recipes ``prior`` and ``context``: stay close to what the corpus says, move where labels insist.

    w_i = prior[t_i] * exp(delta[t_i] + <u, q_i>)
    loss + penalty/n * |delta|^2 + context_penalty/n * |u|^2          n = number of queries

``u`` is there only in the recipe ``context``. Weights are positive by construction; with few labels the penalties
keep them near the prior.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import cross_entropy, pack, slots_of, tokens_seen
from chamfer.weights.token_weights import LARGEST_LOG_CHANGE as MOST
from chamfer.weights.token_weights import TokenWeights

Floats = npt.NDArray[np.float32]

TEMPERATURE = 20.0
NEGATIVES = 100
POOL = 400
STEPS = 500


class Solution(NamedTuple):
    """What the solver found for some penalties: one number per seen token, and one direction."""

    delta: npt.NDArray[np.float64]
    u: npt.NDArray[np.float64]
    penalty: float
    context_penalty: float
    converged: bool


def fit_prior(
    queries: Sequence[JudgedQuery],
    prior: TokenWeights,
    *,
    penalty: float = 3.0,
    context_penalty: float | None = None,
    temperature: float = TEMPERATURE,
    negatives: int = NEGATIVES,
) -> TokenWeights:
    """Learn weights that stay close to a prior.

    Args:
        queries: judged queries with their minima.
        prior: softened IDF, or any positive weights for the same vocabulary.
        penalty: what it costs to move a token's weight; tokens in few queries move little.
        context_penalty: learn a direction as well, at this cost (the recipe ``context``).
        temperature: how sharply the best candidates count.
        negatives: how many of the hardest not relevant candidates count, picked anew at every step.
    """
    learner = Learner(queries, prior, context=context_penalty is not None, temperature=temperature, negatives=negatives)
    return learner.weights(learner.solve(penalty, context_penalty or 0.0))


class Learner:
    """A packed learning problem, solved for several penalties without packing it again."""

    def __init__(
        self,
        queries: Sequence[JudgedQuery],
        prior: TokenWeights,
        *,
        context: bool,
        temperature: float = TEMPERATURE,
        negatives: int = NEGATIVES,
    ) -> None:
        self._blocks = pack(queries, pool=POOL, with_vectors=context)
        self._prior = prior
        self._count = len(queries)
        self._temperature, self._negatives = temperature, negatives
        self._seen = tokens_seen(queries)
        if not (prior.table[self._seen] > 0).all():
            raise InputError("a prior must be above 0 for every token of the judged queries; take softened IDF")
        self._dimensions = queries[0].vectors.shape[1] if context else 0
        self._slots = [slots_of(block, self._seen) for block in self._blocks]
        self._priors = [np.where(block.is_token, prior.table[block.token_ids], 0) for block in self._blocks]

    def solve(self, penalty: float, context_penalty: float, start: Solution | None = None) -> Solution:
        """Minimise the loss by L-BFGS, from another solution where one is near."""
        first = np.zeros(len(self._seen) + self._dimensions)
        if start is not None:
            first = np.concatenate([start.delta, start.u])
        found = minimize(
            self._loss,
            first,
            args=(penalty, context_penalty),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": STEPS, "ftol": 1e-7, "gtol": 1e-6},
        )
        delta, u = np.split(found.x, [len(self._seen)])
        return Solution(delta, u, penalty, context_penalty, bool(found.success))

    def weights(self, solution: Solution) -> TokenWeights:
        """Turn a solution into weights; tokens that were not seen keep their prior."""
        table = self._prior.table.copy()
        table[self._seen] *= np.exp(np.clip(solution.delta, -MOST, MOST)).astype(np.float32)
        made = {
            **self._prior.metadata,
            "recipe": "prior",
            "prior": self._prior.metadata.get("recipe"),
            "penalty": solution.penalty,
            "seen": len(self._seen),
            "converged": solution.converged,
        }
        if not self._dimensions:
            return TokenWeights(table, self._prior.vocabulary, made)
        made |= {"recipe": "context", "context_penalty": solution.context_penalty}
        return TokenWeights(table, self._prior.vocabulary, made, solution.u.astype(np.float32))

    def _loss(
        self, x: npt.NDArray[np.float64], penalty: float, context_penalty: float
    ) -> tuple[float, npt.NDArray[np.float64]]:
        delta, u = np.split(x, [len(self._seen)])
        padded = np.append(delta, 0).astype(np.float32)  # padding never moves
        direction = u.astype(np.float32)
        total = 0.0
        of_delta, of_u = np.zeros(len(padded)), np.zeros(self._dimensions)
        for block, slots, prior in zip(self._blocks, self._slots, self._priors, strict=True):
            moved = padded[slots]
            weights = prior * np.exp(np.clip(moved, -MOST, MOST))
            if self._dimensions:
                turned = block.vectors @ direction
                weights *= np.exp(np.clip(turned, -MOST, MOST))
            scale = self._temperature / prior.sum(axis=1, keepdims=True)
            scores = -np.matmul(block.distances, (weights * scale)[:, :, None])[:, :, 0]
            losses, of_scores = cross_entropy(scores, block.relevant, block.is_candidate, self._negatives)
            total += float(losses.sum())
            of_log_weights = -np.matmul(of_scores[:, None, :], block.distances)[:, 0, :] * weights * scale
            within = np.where(np.abs(moved) < MOST, of_log_weights, 0)
            of_delta += np.bincount(slots.ravel(), within.ravel(), len(padded))
            if self._dimensions:
                within = np.where(np.abs(turned) < MOST, of_log_weights, 0)
                of_u += within.ravel() @ block.vectors.reshape(-1, self._dimensions)
        loss = (total + penalty * float(delta @ delta) + context_penalty * float(u @ u)) / self._count
        gradient = np.concatenate([of_delta[:-1] + 2 * penalty * delta, of_u + 2 * context_penalty * u]) / self._count
        return loss, gradient
