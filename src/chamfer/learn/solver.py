"""Weights that stay close to a prior unless judgements say otherwise; the recipes ``prior`` and ``context``.

    w_i = prior[t_i] * exp(delta[t_i] + <u, q_i>)
    loss + penalty/n * |delta|^2 + context_penalty/n * |u|^2          n = number of queries

Only the recipe ``context`` learns ``u``. Weights are positive by construction; with few labels, the penalties keep them
near the prior.

All scores are multiplied by a factor that is learnt as well, without a penalty. It changes no ranking, and is not part
of the weights. If it were fixed and too high, scores would have to shrink by way of the weights, which costs the least
penalty for frequent tokens: weights would look like an IDF even if labels were random.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import Pool, cross_entropy, pack, slots_of, tokens_seen
from chamfer.learn.start import SOFT, Start
from chamfer.weights.token_weights import LARGEST_LOG_CHANGE, TokenWeights

Floats = npt.NDArray[np.float32]

PRIOR, CONTEXT = "prior", "context"
"""Names of the recipes."""

PENALTIES = (30.0, 10.0, 3.0)
"""From strong to weak, so that each solution is a good start for the next."""

TEMPERATURE = 20.0
"""The factor of all scores that learning starts from."""

# How far it may go: where nothing can be learnt, the best factor is 0, of which there is no logarithm.
LOG_FACTORS = (-6.0, 3.0)

POOL = Pool()
# Iterations of L-BFGS.
STEPS = 500


class Solution(NamedTuple):
    """Solution for given penalties: one number per seen token, one direction, and the factor of all scores."""

    delta: npt.NDArray[np.float64]
    u: npt.NDArray[np.float64]
    log_factor: float
    penalty: float
    context_penalty: float
    converged: bool


@dataclass(frozen=True)
class PenaltyConfiguration:
    """A recipe that penalises moving away from a prior."""

    start: str = SOFT.name
    penalty: float = 10.0
    context_penalty: float | None = None
    recipe: str = PRIOR

    @property
    def name(self) -> str:
        """The recipe and its hyper-parameters."""
        return f"{self.recipe} ({', '.join(self.settings)})"

    @property
    def settings(self) -> tuple[str, ...]:
        """The prior and the penalties."""
        context = () if self.context_penalty is None else (f"{self.context_penalty:g}",)
        return (self.start, f"{self.penalty:g}", *context)

    @property
    def sequence(self) -> Hashable:
        """Those with the same prior are fitted in sequence."""
        return self.start


def fit_sequence(
    queries: Sequence[JudgedQuery], start: Start, configurations: Sequence[PenaltyConfiguration]
) -> Iterator[TokenWeights]:
    """Fit configurations of one recipe and prior, each from the solution of the one before."""
    first = configurations[0]
    learner = Learner(queries, start.named(first.start), context=first.context_penalty is not None)
    solution = None
    for one in configurations:
        solution = learner.solve(one.penalty, one.context_penalty or 0.0, solution)
        yield learner.weights(solution)


class Learner:
    """A packed learning problem, which can be solved for several penalties.

    Args:
        queries: judged queries with their minima.
        prior: positive weights to stay close to.
        context: whether to learn a direction as well.
        temperature: sharpness of the softmax over candidates.
        pool: which candidates are learnt from.
    """

    def __init__(
        self,
        queries: Sequence[JudgedQuery],
        prior: TokenWeights,
        *,
        context: bool,
        temperature: float = TEMPERATURE,
        pool: Pool = POOL,
    ) -> None:
        self._blocks = pack(queries, pool=pool, prior=prior, with_vectors=context)
        self._prior = prior
        self._count = len(queries)
        self._temperature = temperature
        self._seen = tokens_seen(queries)
        if not (prior.table[self._seen] > 0).all():
            raise InputError("a prior must be above 0 for every token of the judged queries; use softened IDF")
        self._dimensions = queries[0].vectors.shape[1] if context else 0
        self._slots = [slots_of(block, self._seen) for block in self._blocks]
        self._priors = [np.where(block.is_token, prior.table[block.token_ids], 0) for block in self._blocks]

    def solve(self, penalty: float, context_penalty: float, start: Solution | None = None) -> Solution:
        """Minimise the loss by L-BFGS, starting from the solution for other penalties if one is given."""
        first = np.zeros(len(self._seen) + self._dimensions + 1)
        if start is not None:
            first = np.concatenate([start.delta, start.u, [start.log_factor]])
        found = minimize(
            self._loss,
            first,
            args=(penalty, context_penalty),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": STEPS, "ftol": 1e-7, "gtol": 1e-6},
        )
        delta, u, log_factor = self._parts(found.x)
        return Solution(delta, u, log_factor, penalty, context_penalty, bool(found.success))

    def weights(self, solution: Solution) -> TokenWeights:
        """Turn a solution into weights; tokens that occur in no query keep their prior."""
        table = self._prior.table.copy()
        table[self._seen] *= np.exp(np.clip(solution.delta, -LARGEST_LOG_CHANGE, LARGEST_LOG_CHANGE)).astype(np.float32)
        made = {
            **self._prior.metadata,
            "recipe": PRIOR,
            "prior": self._prior.metadata.get("recipe"),
            "penalty": solution.penalty,
            "seen": len(self._seen),
            "converged": solution.converged,
        }
        if not self._dimensions:
            return TokenWeights(table, self._prior.vocabulary, made)
        made |= {"recipe": CONTEXT, "context_penalty": solution.context_penalty}
        return TokenWeights(table, self._prior.vocabulary, made, solution.u.astype(np.float32))

    def _loss(
        self, x: npt.NDArray[np.float64], penalty: float, context_penalty: float
    ) -> tuple[float, npt.NDArray[np.float64]]:
        delta, u, log_factor = self._parts(x)
        padded = np.append(delta, 0).astype(np.float32)  # padding does not move
        direction = u.astype(np.float32)
        temperature = self._temperature * np.float32(np.exp(np.clip(log_factor, *LOG_FACTORS)))
        total = of_log_factor = 0.0
        of_delta, of_u = np.zeros(len(padded)), np.zeros(self._dimensions)
        for block, slots, prior in zip(self._blocks, self._slots, self._priors, strict=True):
            moved = padded[slots]
            weights = prior * np.exp(np.clip(moved, -LARGEST_LOG_CHANGE, LARGEST_LOG_CHANGE))
            if self._dimensions:
                turned = block.vectors @ direction
                weights *= np.exp(np.clip(turned, -LARGEST_LOG_CHANGE, LARGEST_LOG_CHANGE))
            scale = temperature / prior.sum(axis=1, keepdims=True)
            scores = -np.matmul(block.distances, (weights * scale)[:, :, None])[:, :, 0]
            losses, of_scores = cross_entropy(scores + block.stands_for, block.relevant, block.is_candidate)
            total += float(losses.sum())
            of_log_factor += float(np.vdot(of_scores, scores))
            of_log_weights = -np.matmul(of_scores[:, None, :], block.distances)[:, 0, :] * weights * scale
            within = np.where(np.abs(moved) < LARGEST_LOG_CHANGE, of_log_weights, 0)
            of_delta += np.bincount(slots.ravel(), within.ravel(), len(padded))
            if self._dimensions:
                within = np.where(np.abs(turned) < LARGEST_LOG_CHANGE, of_log_weights, 0)
                of_u += within.ravel() @ block.vectors.reshape(-1, self._dimensions)
        loss = (total + penalty * float(delta @ delta) + context_penalty * float(u @ u)) / self._count
        if not LOG_FACTORS[0] < log_factor < LOG_FACTORS[1]:
            of_log_factor = 0.0
        gradient = np.concatenate(
            [of_delta[:-1] + 2 * penalty * delta, of_u + 2 * context_penalty * u, [of_log_factor]]
        )
        return loss, gradient / self._count

    def _parts(self, x: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
        delta, u = np.split(x[:-1], [len(self._seen)])
        return delta, u, float(x[-1])
