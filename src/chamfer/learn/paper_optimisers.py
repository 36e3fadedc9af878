"""Two ways to minimise the paper's loss: 100 steps of Adam, as published, and all the way to the optimum.

Weights are never negative. ``outside`` is the number of tokens that occur in no query but share the sum of 1: they
start like the others, and nothing moves them except the scaling.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, minimize

Weights = npt.NDArray[np.float64]
Loss = Callable[[Weights], tuple[float, Weights]]
"""Returns a convex function of the weights that is never negative, and its gradient or a subgradient."""

ITERATIONS = 100
FIRST_RATE, LAST_RATE = 1e-4, 1e-8

# Iterations of L-BFGS. Where negatives change, the loss has a kink, at which it may stop early; then it starts again.
STEPS, STARTS = 200, 3
# It is enough when a start lowers the loss by less than this share of what was lowered before.
ENOUGH = 1e-4
# Cutting planes: how many to try and to keep, how far to go to the point that they propose, and which share of what was
# lowered is close enough to the optimum.
PLANES, TANGENTS, STRIDE, CLOSE = 100, 150, 0.3, 0.01
# The simplex method can fail where many tangents are nearly equal; the interior-point method does not.
SOLVERS = ("highs", "highs-ipm")


class Minimum(NamedTuple):
    """Weights, and how far they came."""

    weights: Weights
    """``(tokens,)``."""
    path: float | None = None
    """Mean distance that a weight travelled step by step, in initial weights; of Adam only."""
    loss: float | None = None
    """Loss of the weights; of an optimum only."""
    lowered: float | None = None
    """How far that is below the loss of uniform weights; of an optimum only."""
    gap: float | None = None
    """Upper bound of how far that is above the lowest possible loss; of an optimum only."""


def rate(step: int) -> float:
    """Return the learning rate of a step, the first of which is 1: it falls on a cosine."""
    return LAST_RATE + (FIRST_RATE - LAST_RATE) * (1 + math.cos(math.pi * (step - 1) / ITERATIONS)) / 2


def adam(loss: Loss, tokens: int, *, outside: int = 0) -> Minimum:
    """Run Adam from uniform weights; after every step, weights are clipped at 0 and scaled to sum to 1."""
    first = 1 / (tokens + outside)
    weights, mass_outside = np.full(tokens, first), outside * first
    mean, square, travelled = np.zeros(tokens), np.zeros(tokens), np.zeros(tokens)
    for step in range(1, ITERATIONS + 1):
        gradient = loss(weights)[1]
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        direction = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        moved = np.maximum(weights - rate(step) * direction, 0)
        mass = moved.sum() + mass_outside
        if mass > 0:
            travelled += np.abs(moved / mass - weights)
            weights, mass_outside = moved / mass, mass_outside / mass
    return Minimum(weights, path=float(travelled.mean()) / first)


def optimum(loss: Loss, tokens: int, *, outside: int = 0) -> Minimum:
    """Minimise over all weights that sum to 1, those of tokens outside included.

    L-BFGS-B runs over ``v >= 0`` with ``w = v / sum(v)``, whose gradient is ``(g_i - <g, w>) / sum(v)``. That is not
    convex in ``v``, but it is stationary exactly where ``g_i`` is smallest for every ``w_i > 0``, and where that holds
    a convex loss has its minimum. Kinks, at which it may stop elsewhere, are left to cutting planes.
    """
    tangents = Tangents(loss)

    def function(v: Weights) -> tuple[float, Weights]:
        w = v / v.sum()
        value, gradient = tangents(w[:tokens])
        gradient = np.append(gradient, np.zeros(len(v) - tokens))
        return value, (gradient - gradient @ w) / v.sum()

    start = np.append(np.ones(tokens), outside) if outside else np.ones(tokens)
    steepest = -function(start)[1].min() * start.sum()
    v = _descend(function, start, steepest)
    return _sharpen(tangents, v[:tokens] / v.sum(), 1.0, at_most=outside > 0)


def free_optimum(loss: Loss, tokens: int) -> Minimum:
    """Minimise over all non-negative weights, whatever they sum to.

    Where growing weights rank more and more relevant documents first, the loss has no minimum, and L-BFGS-B stops
    somewhere. So the gap is that to the best weights whose mean is at most 1 or not larger.
    """
    tangents = Tangents(loss)
    start = np.ones(tokens)
    weights = _descend(tangents, start, tangents(start)[0])
    return _sharpen(tangents, weights, max(float(weights.sum()), tokens), at_most=True)


class Tangents:
    """A convex loss that remembers its first value, and its last tangents: it is nowhere below one of them."""

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._last: deque[tuple[float, Weights]] = deque(maxlen=TANGENTS)
        self.first: float | None = None

    def __call__(self, weights: Weights) -> tuple[float, Weights]:
        """Compute the loss and its gradient."""
        value, gradient = self._loss(weights)
        self._last.append((value - float(gradient @ weights), gradient))
        self.first = value if self.first is None else self.first
        return value, gradient

    def lowest(self, total: float, *, at_most: bool) -> tuple[float, Weights]:
        """Find where the highest tangent is lowest, over non-negative weights with this sum, or at most this sum.

        A mean of tangents, ``height + <slope, w>``, is below the loss as well, and lowest where one token has all the
        weight: ``height + total * min_i slope_i``. A linear program finds the mean for which that is highest.

        Returns:
            A number that the loss is not below for any such weights, and the weights, which the program's dual gives.
        """
        heights = np.array([height for height, _ in self._last])
        slopes = np.array([slope for _, slope in self._last])
        scale = max(float(np.abs(slopes).max()), np.finfo(np.float64).tiny)
        count, tokens = slopes.shape
        for solver in SOLVERS:
            found = linprog(
                np.append((heights.max() - heights) / (scale * total), -1),
                A_ub=np.hstack([-slopes.T / scale, np.ones((tokens, 1))]),
                b_ub=np.zeros(tokens),
                A_eq=np.append(np.ones(count), 0)[None],
                b_eq=[1],
                bounds=[(0, None)] * count + [(None, 0 if at_most else None)],
                method=solver,
            )
            if found.x is not None:
                break
        else:
            raise RuntimeError(f"a linear program with a solution was not solved: {found.message}")
        shares = np.maximum(found.x[:-1], 0)
        shares /= shares.sum()  # so that it is a bound, however exact the solution is
        slope = float((shares @ slopes).min())
        weights = total * np.maximum(-found.ineqlin.marginals, 0)
        return max(float(shares @ heights) + total * (min(slope, 0) if at_most else slope), 0.0), weights


def _descend(function: Loss, x: Weights, scale: float) -> Weights:
    """Minimise over ``x >= 0`` by L-BFGS-B.

    ``scale`` is about how far the value can fall. With weights that sum to 1 that is 1e-5 of the loss, which usual
    tolerances overlook.
    """
    first = value = function(x)[0]
    if not scale > 0:
        return x

    def scaled(at: Weights) -> tuple[float, Weights]:
        found, gradient = function(at)
        return (found - first) / scale, gradient / scale

    for _ in range(STARTS):
        x = minimize(
            scaled,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * len(x),
            options={"maxiter": STEPS, "maxfun": 2 * STEPS, "ftol": ENOUGH**2, "gtol": 0, "maxcor": 20},
        ).x
        before, value = value, function(x)[0]
        if before - value <= ENOUGH * (first - value):
            break
    return x


def _sharpen(tangents: Tangents, weights: Weights, total: float, *, at_most: bool) -> Minimum:
    """Improve weights that are nearly optimal by cutting planes, which kinks do not stop, until that is certain."""
    value, lowest = tangents(weights)[0], 0.0
    first = value if tangents.first is None else tangents.first
    for _ in range(PLANES):
        bound, proposed = tangents.lowest(total, at_most=at_most)
        lowest = max(lowest, bound)
        if value - lowest <= CLOSE * (first - value):
            break
        tried = weights + STRIDE * (proposed - weights)
        found = tangents(tried)[0]
        if found < value:
            weights, value = tried, found
    return Minimum(weights, loss=value, lowered=first - value, gap=value - lowest)
