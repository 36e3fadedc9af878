"""Weights that stay close to a prior unless judgements say otherwise; the recipes ``prior``, ``context`` and ``mix``.

    w_i = prior[t_i] * exp(delta[t_i] + <u, q_i>)
    mix_e = prior mix_e * exp(theta_e)                                e = lexical, pooled; 0 without the recipe ``mix``
    loss + penalty/n * |delta|^2 + context_penalty/n * |u|^2 + mix_penalty/n * |theta|^2      n = number of queries

The recipe ``prior`` learns ``delta``, ``context`` also ``u``, and ``mix`` also ``theta``. Weights are positive by
construction; with few labels, the penalties keep them near the prior.

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
from chamfer.weights.mix import EVIDENCE, NOTHING, Mix
from chamfer.weights.token_weights import LARGEST_LOG_CHANGE, TokenWeights

Floats = npt.NDArray[np.float32]

PRIOR, CONTEXT, MIXED = "prior", "context", "mix"
"""Names of the recipes."""

PENALTIES = (30.0, 10.0, 3.0)
"""From strong to weak, so that each solution is a good start for the next."""

TEMPERATURE = 20.0
"""The factor of all scores that learning starts from."""

MIX_PENALTY = 10.0
"""Cost of moving the mix; there are only two numbers to learn, so it is not searched for."""

# How far it may go: where nothing can be learnt, the best factor is 0, of which there is no logarithm.
LOG_FACTORS = (-6.0, 3.0)
# A factor of the mix is learnt between a twentieth and seven times its prior.
LOG_MIX = (-3.0, 2.0)

POOL = Pool()
# Iterations of L-BFGS.
STEPS = 500


class Solution(NamedTuple):
    """Solution for given penalties: a number per seen token, a direction, the mix, and the factor of all scores."""

    delta: npt.NDArray[np.float64]
    u: npt.NDArray[np.float64]
    theta: npt.NDArray[np.float64]
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
    context, mix = first.context_penalty is not None, first.recipe == MIXED
    learner = Learner(queries, start.named(first.start), context=context, mix=mix)
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
        mix: whether to learn the mix of the prior as well; without it, evidence does not count.
        temperature: sharpness of the softmax over candidates.
        pool: which candidates are learnt from.
    """

    def __init__(
        self,
        queries: Sequence[JudgedQuery],
        prior: TokenWeights,
        *,
        context: bool,
        mix: bool = False,
        temperature: float = TEMPERATURE,
        pool: Pool = POOL,
    ) -> None:
        prior = prior if mix else prior.with_mix(NOTHING)
        self._blocks = pack(queries, pool=pool, prior=prior, with_vectors=context)
        self._prior = prior
        self._mix = np.array([getattr(prior.mix, name) for name in EVIDENCE], np.float32) if prior.mix else None
        self._recipe = MIXED if mix else CONTEXT if context else PRIOR
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
        first = np.zeros(len(self._seen) + self._dimensions + self._mixed + 1)
        if start is not None:
            first = np.concatenate([start.delta, start.u, start.theta, [start.log_factor]])
        found = minimize(
            self._loss,
            first,
            args=(penalty, context_penalty),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None)] * (len(first) - self._mixed - 1) + [LOG_MIX] * self._mixed + [LOG_FACTORS],
            options={"maxiter": STEPS, "ftol": 1e-7, "gtol": 1e-6},
        )
        delta, u, theta, log_factor = self._parts(found.x)
        return Solution(delta, u, theta, log_factor, penalty, context_penalty, bool(found.success))

    def weights(self, solution: Solution) -> TokenWeights:
        """Turn a solution into weights; tokens that occur in no query keep their prior."""
        table = self._prior.table.copy()
        table[self._seen] *= np.exp(np.clip(solution.delta, -LARGEST_LOG_CHANGE, LARGEST_LOG_CHANGE)).astype(np.float32)
        made = {
            **self._prior.metadata,
            "recipe": self._recipe,
            "prior": self._prior.metadata.get("recipe"),
            "penalty": solution.penalty,
            "seen": len(self._seen),
            "converged": solution.converged,
        }
        context = None
        if self._dimensions:
            made["context_penalty"] = solution.context_penalty
            context = solution.u.astype(np.float32)
        mix = NOTHING
        if self._mix is not None:
            mix = Mix(*(float(factor) for factor in self._mix * np.exp(solution.theta)))
        return TokenWeights(table, self._prior.vocabulary, made, context, mix=mix)

    def _loss(
        self, x: npt.NDArray[np.float64], penalty: float, context_penalty: float
    ) -> tuple[float, npt.NDArray[np.float64]]:
        delta, u, theta, log_factor = self._parts(x)
        padded = np.append(delta, 0).astype(np.float32)  # padding does not move
        direction = u.astype(np.float32)
        temperature = self._temperature * np.float32(np.exp(log_factor))
        total = of_log_factor = 0.0
        of_delta, of_u, of_theta = np.zeros(len(padded)), np.zeros(self._dimensions), np.zeros(self._mixed)
        factors = None if self._mix is None else self._mix * np.exp(theta).astype(np.float32)
        for block, slots, prior in zip(self._blocks, self._slots, self._priors, strict=True):
            moved = padded[slots]
            weights = prior * np.exp(np.clip(moved, -LARGEST_LOG_CHANGE, LARGEST_LOG_CHANGE))
            if self._dimensions:
                turned = block.vectors @ direction
                weights *= np.exp(np.clip(turned, -LARGEST_LOG_CHANGE, LARGEST_LOG_CHANGE))
            scale = temperature / prior.sum(axis=1, keepdims=True)
            scores = -np.matmul(block.distances, (weights * scale)[:, :, None])[:, :, 0]
            if factors is not None:
                mixed = block.evidence @ factors
                total_weight = (weights * scale).sum(axis=1, keepdims=True)
                scores += total_weight * mixed
            losses, of_scores = cross_entropy(scores + block.stands_for, block.relevant, block.is_candidate)
            total += float(losses.sum())
            of_log_factor += float(np.vdot(of_scores, scores))
            per_token = -np.matmul(of_scores[:, None, :], block.distances)[:, 0, :]
            if factors is not None:
                per_token += (of_scores * mixed).sum(axis=1, keepdims=True)
                of_theta += factors * np.einsum("qc,qce->e", of_scores * total_weight, block.evidence)
            of_log_weights = per_token * weights * scale
            within = np.where(np.abs(moved) < LARGEST_LOG_CHANGE, of_log_weights, 0)
            of_delta += np.bincount(slots.ravel(), within.ravel(), len(padded))
            if self._dimensions:
                within = np.where(np.abs(turned) < LARGEST_LOG_CHANGE, of_log_weights, 0)
                of_u += within.ravel() @ block.vectors.reshape(-1, self._dimensions)
        penalties = penalty * float(delta @ delta) + context_penalty * float(u @ u)
        loss = (total + penalties + MIX_PENALTY * float(theta @ theta)) / self._count
        of_theta += 2 * MIX_PENALTY * theta
        gradient = np.concatenate(
            [of_delta[:-1] + 2 * penalty * delta, of_u + 2 * context_penalty * u, of_theta, [of_log_factor]]
        )
        return loss, gradient / self._count

    @property
    def _mixed(self) -> int:
        """Number of pieces of evidence whose factors are learnt."""
        return 0 if self._mix is None else len(self._mix)

    def _parts(
        self, x: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
        seen = len(self._seen)
        delta, u, theta = np.split(x[:-1], [seen, seen + self._dimensions])
        return delta, u, theta, float(x[-1])
