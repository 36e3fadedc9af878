"""Learning the adapter: a map of query vectors in the principal directions of the documents.

    q' = normalise(q + P M' P' q)         P the directions, M the map to learn, which starts at 0
    loss + penalty/n * |M|^2              n = number of queries

Weights and mix are those of the recipe ``mix``, and stay as they are; the loss is that of
:mod:`chamfer.learn.objective`.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.neighbours import CLOSEST, Neighbours, neighbours_of
from chamfer.learn.solver import TEMPERATURE, Learner
from chamfer.learn.start import MIX, Start
from chamfer.learn.vectors import CandidateVectors
from chamfer.weights.adapter import Adapter
from chamfer.weights.mix import scale_of
from chamfer.weights.token_weights import TokenWeights

ADAPTER = "adapter"
"""Name of the recipe."""

PENALTIES = (150.0, 15.0, 3.0)

# Penalties of the weights and the mix that an adapter is learnt beside.
TOKEN_PENALTY, CONTEXT_PENALTY = 10.0, 3.0

DIRECTIONS = 64
# Of Adam, with a learning rate that falls to 0 on a cosine.
STEPS, RATE, RATE_OF_FACTOR, QUERIES_PER_STEP = 150, 1e-2, 2e-3, 24
# The slope of a distance is infinite at 0.
LEAST_SQUARE = 1e-4


@dataclass(frozen=True)
class AdapterConfiguration:
    """The recipe with one penalty."""

    penalty: float
    recipe: ClassVar[str] = ADAPTER
    start: ClassVar[str] = MIX.name

    @property
    def name(self) -> str:
        """The recipe and its hyper-parameters."""
        return f"{ADAPTER} ({', '.join(self.settings)})"

    @property
    def settings(self) -> tuple[str, ...]:
        """The prior and the penalty."""
        return (self.start, f"{self.penalty:g}")

    @property
    def sequence(self) -> Hashable:
        """All are learnt beside the same weights."""
        return self.start


def fit_adapters(
    queries: Sequence[JudgedQuery], start: Start, configurations: Sequence[AdapterConfiguration]
) -> Iterator[TokenWeights]:
    """Learn weights and mix, then an adapter for each penalty."""
    vectors = queries[0].vectors_of
    if vectors is None:
        raise InputError(
            "an adapter cannot be learnt without the vectors of the candidates; give a collection or index"
        )
    learner = Learner(queries, start.mix, context=True, mix=True)
    solution = learner.solve(TOKEN_PENALTY, CONTEXT_PENALTY)
    weights = learner.weights(solution)
    directions = vectors.directions(min(DIRECTIONS, queries[0].vectors.shape[1]))
    problem = Problem(queries, weights, start.mix, directions, vectors)
    for one in configurations:
        matrix = problem.solve(one.penalty / len(queries), TEMPERATURE * np.exp(solution.log_factor))
        made = {**weights.metadata, "recipe": ADAPTER, "adapter_penalty": one.penalty}
        yield replace(weights, metadata=made, adapter=Adapter(directions, matrix @ directions.T))


class Problem:
    """Queries with their neighbours, ready for several penalties.

    Args:
        queries: judged queries with evidence.
        weights: weights and mix, which stay as they are.
        prior: weights that tell which candidates are close.
        directions: ``(dimensions, directions)`` orthonormal.
        vectors: the vectors of the candidates, which determine form, device and projection.
    """

    def __init__(
        self,
        queries: Sequence[JudgedQuery],
        weights: TokenWeights,
        prior: TokenWeights,
        directions: npt.NDArray[np.float32],
        vectors: CandidateVectors,
    ) -> None:
        found = [neighbours_of(query, prior, directions) for query in queries]
        candidates = max(len(near.relevant) for near in found)
        self._mix, self._form, self._device = weights.mix, vectors.form, vectors.device
        self._items = [
            _Item.of(query, near, weights, prior, candidates, self._device)
            for query, near in zip(queries, found, strict=True)
        ]
        self._directions = torch.from_numpy(directions).to(self._device)
        projection = vectors.projection
        self._projection = None if projection is None else torch.from_numpy(projection).to(self._device)

    def solve(self, penalty: float, temperature: float) -> npt.NDArray[np.float32]:
        """``(directions, directions)`` the map that minimises the loss."""
        count = self._directions.shape[1]
        matrix = torch.zeros(count, count, device=self._device, requires_grad=True)
        factor = torch.tensor(float(np.log(temperature)), device=self._device, requires_grad=True)
        rates = [{"params": [matrix], "lr": RATE}, {"params": [factor], "lr": RATE_OF_FACTOR}]
        optimiser = torch.optim.Adam(rates)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
        generator, order = np.random.default_rng(0), np.empty(0, np.int64)
        size = min(QUERIES_PER_STEP, len(self._items))
        for _ in range(STEPS):
            if len(order) < size:
                order = generator.permutation(len(self._items))
            now, order = order[:size], order[size:]
            loss = self._loss([self._items[place] for place in now], matrix, factor)
            optimiser.zero_grad(set_to_none=True)
            (loss + penalty * (matrix**2).sum()).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
        return matrix.detach().cpu().numpy()

    def _loss(self, items: "Sequence[_Item]", matrix: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        queries, shares = torch.cat([item.vectors for item in items]), torch.cat([item.shares for item in items])
        tokens = [len(item.shares) for item in items]
        # (queries, tokens of all queries) 1 where the token is the query's.
        is_of = torch.eye(len(items)).repeat_interleave(torch.tensor(tokens), dim=1).to(self._device)
        moves = (queries @ self._directions) @ matrix
        moved = queries + moves @ self._directions.T
        compared = moved if self._projection is None else moved @ self._projection
        lengths = torch.linalg.vector_norm(compared, dim=1, keepdim=True).clamp(min=1e-3)
        gained = torch.cat(
            [
                (own @ item.coordinates.float().T).gather(1, item.rows.long())
                for own, item in zip(torch.split(moves, tokens), items, strict=True)
            ]
        )
        products = torch.cat([item.products for item in items]).float()
        products = ((products + gained) / lengths).view(len(moves), -1, CLOSEST).amax(dim=2)
        far = (2 - 2 * products).clamp(min=LEAST_SQUARE).sqrt() if self._form == "l2" else -products
        whole = torch.nn.functional.normalize(is_of @ (compared / lengths), dim=1)
        cosines = torch.einsum("bd,bcd->bc", whole, torch.stack([item.means for item in items]).float())
        lexical, relevant, stands_for = torch.stack([item.candidates for item in items]).unbind(1)
        scores = self._mix.lexical * lexical + self._mix.pooled * cosines - (is_of * shares) @ far
        scale = torch.stack([item.scale for item in items])
        logits = factor.exp() * scale[:, None] * scores + stands_for
        per_relevant = relevant / relevant.sum(dim=1, keepdim=True)
        losses: torch.Tensor = torch.logsumexp(logits, dim=1) - (logits * per_relevant).sum(dim=1)
        return losses.mean()


@dataclass(frozen=True)
class _Item:
    """One query on the device, which it goes to once: ``t`` tokens, ``c`` candidates, ``k`` neighbours.

    Candidates are padded to the same number for all queries.
    """

    vectors: torch.Tensor
    """``(t, dimensions)``."""
    shares: torch.Tensor
    """``(t,)`` share of each token in the weight of the query."""
    scale: torch.Tensor
    """The query's total weight by the prior's."""
    candidates: torch.Tensor
    """``(3, c)``: BM25's scores, whether relevant, and what the candidate stands for, so low for padding that it never
    wins."""
    means: torch.Tensor
    """``(c, dimensions)`` in 16 bits."""
    products: torch.Tensor
    """``(t, c * k)`` in 16 bits."""
    rows: torch.Tensor
    """``(t, c * k)`` rows in the coordinates."""
    coordinates: torch.Tensor
    """``(rows, directions)`` in 16 bits."""

    @classmethod
    def of(
        cls,
        query: JudgedQuery,
        near: Neighbours,
        weights: TokenWeights,
        prior: TokenWeights,
        candidates: int,
        device: str,
    ) -> "_Item":
        own = weights.of_tokens(query.token_ids, query.vectors)
        scale = scale_of(own) / max(scale_of(prior.table[query.token_ids]), 1e-9)
        drawn = own[near.tokens]
        # A query whose drawn tokens all weigh 0 has no score by tokens.
        shares = drawn / drawn.sum() if drawn.sum() > 0 else np.full(len(drawn), 1 / len(drawn), np.float32)
        tokens, missing = len(near.tokens), candidates - len(near.relevant)
        told = np.pad(np.stack([near.lexical, near.relevant, near.stands_for]), ((0, 0), (0, missing)))
        told[2, len(near.relevant) :] = -1e9
        later = ((0, 0), (0, missing * CLOSEST))

        def on_device(values: npt.NDArray[Any], as_type: npt.DTypeLike) -> torch.Tensor:
            return torch.from_numpy(np.asarray(values, as_type)).to(device)

        return cls(
            on_device(query.vectors[near.tokens], np.float32),
            on_device(shares, np.float32),
            on_device(np.array(scale), np.float32),
            on_device(told, np.float32),
            on_device(np.pad(near.means, ((0, missing), (0, 0))), np.float16),
            on_device(np.pad(near.products.reshape(tokens, -1), later, constant_values=-1), np.float16),
            on_device(np.pad(near.rows.reshape(tokens, -1), later), np.int32),
            on_device(near.coordinates, np.float16),
        )
