"""The recipe ``prior``: one weight per token, close to softened IDF."""

from collections.abc import Sequence

from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import Pool
from chamfer.learn.presets import Preset
from chamfer.learn.recipe import Recipe
from chamfer.learn.solver import PENALTIES, POOL, PRIOR, TEMPERATURE, Learner, PenaltyConfiguration, fit_sequence
from chamfer.learn.start import SOFT
from chamfer.weights.token_weights import TokenWeights


def grid(*, alone: bool, preset: Preset | None) -> list[PenaltyConfiguration]:
    """Return every penalty."""
    return [PenaltyConfiguration(SOFT.name, penalty) for penalty in PENALTIES]


def fit_prior(
    queries: Sequence[JudgedQuery],
    prior: TokenWeights,
    *,
    penalty: float = 10.0,
    context_penalty: float | None = None,
    temperature: float = TEMPERATURE,
    pool: Pool = POOL,
) -> TokenWeights:
    """Learn weights that stay close to a prior.

    Args:
        queries: judged queries with their minima.
        prior: softened IDF, or any positive weights for the same vocabulary.
        penalty: cost of moving the weight of a token; tokens that occur in few queries move little.
        context_penalty: cost of a direction, which is learnt as well if this is given (the recipe ``context``).
        temperature: sharpness of the softmax over candidates.
        pool: which candidates are learnt from.
    """
    learner = Learner(queries, prior, context=context_penalty is not None, temperature=temperature, pool=pool)
    return learner.weights(learner.solve(penalty, context_penalty or 0.0))


RECIPE = Recipe(
    PRIOR,
    order=2,
    legend="prior, token penalty",
    grid=grid,
    fit=fit_sequence,
    blends=False,
    hyperparameters=("penalty",),
)
