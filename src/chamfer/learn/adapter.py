"""Learning the adapter: a map of query vectors in the principal directions of the documents.

    q' = normalise(q + P M' P' q)         P the directions, M the map to learn, which starts at 0
    loss + penalty/n * |M|^2              n = number of queries

Weights and mix are those of the recipe ``mix``, and stay as they are; the loss is that of
:mod:`chamfer.learn.objective`.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

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
        self._items = [_Item.of(query, neighbours_of(query, prior, directions), weights, prior) for query in queries]
        self._mix, self._form, self._device = weights.mix, vectors.form, vectors.device
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
        batch = _Batch.of(items, self._device)
        moves = (batch.queries @ self._directions) @ matrix
        moved = batch.queries + moves @ self._directions.T
        compared = moved if self._projection is None else moved @ self._projection
        lengths = torch.linalg.vector_norm(compared, dim=1, keepdim=True).clamp(min=1e-3)
        gained = torch.cat(
            [
                (own @ coordinates.T).gather(1, rows)
                for own, coordinates, rows in zip(
                    torch.split(moves, batch.lengths), batch.coordinates, batch.rows, strict=True
                )
            ]
        )
        products = ((batch.products + gained) / lengths).view(len(moves), -1, CLOSEST).amax(dim=2)
        far = (2 - 2 * products).clamp(min=LEAST_SQUARE).sqrt() if self._form == "l2" else -products
        whole = torch.nn.functional.normalize(batch.is_of @ (compared / lengths), dim=1)
        cosines = torch.einsum("bd,bcd->bc", whole, batch.means)
        scores = self._mix.lexical * batch.lexical + self._mix.pooled * cosines - batch.shares @ far
        logits = factor.exp() * batch.scale[:, None] * scores + batch.stands_for
        per_relevant = batch.relevant / batch.relevant.sum(dim=1, keepdim=True)
        losses: torch.Tensor = torch.logsumexp(logits, dim=1) - (logits * per_relevant).sum(dim=1)
        return losses.mean()


@dataclass(frozen=True)
class _Item:
    """One query: its tokens and their shares of its weight, its neighbours, and its total weight by the prior's."""

    vectors: npt.NDArray[np.float32]
    shares: npt.NDArray[np.float32]
    near: Neighbours
    scale: float

    @classmethod
    def of(cls, query: JudgedQuery, near: Neighbours, weights: TokenWeights, prior: TokenWeights) -> "_Item":
        own = weights.of_tokens(query.token_ids, query.vectors)
        scale = scale_of(own) / max(scale_of(prior.table[query.token_ids]), 1e-9)
        drawn = own[near.tokens]
        # A query whose drawn tokens all weigh 0 has no score by tokens.
        shares = drawn / drawn.sum() if drawn.sum() > 0 else np.full(len(drawn), 1 / len(drawn), np.float32)
        return cls(query.vectors[near.tokens].astype(np.float32), shares, near, scale)


@dataclass(frozen=True)
class _Batch:
    """Several queries: ``b`` queries, ``t`` tokens of all of them, ``c`` candidates of each, ``k`` neighbours.

    Only candidates are padded; tokens of long queries would be padded to many times their number.
    """

    queries: torch.Tensor
    """``(t, dimensions)``."""
    lengths: list[int]
    """Tokens of each query."""
    is_of: torch.Tensor
    """``(b, t)`` 1 where the token is the query's."""
    shares: torch.Tensor
    """``(b, t)`` share of the token in the weight of its query."""
    scale: torch.Tensor
    """``(b,)``."""
    relevant: torch.Tensor
    """``(b, c)``."""
    stands_for: torch.Tensor
    """``(b, c)``; so low for padding that it never wins."""
    lexical: torch.Tensor
    """``(b, c)``."""
    means: torch.Tensor
    """``(b, c, dimensions)``."""
    products: torch.Tensor
    """``(t, c * k)``."""
    coordinates: list[torch.Tensor]
    """For each query, ``(rows, directions)``."""
    rows: list[torch.Tensor]
    """For each query, ``(tokens, c * k)`` rows in its coordinates."""

    @classmethod
    def of(cls, items: Sequence[_Item], device: str) -> "_Batch":
        lengths = [len(item.shares) for item in items]
        count, candidates = len(items), max(len(item.near.relevant) for item in items)
        is_of, shares = np.zeros((count, sum(lengths)), np.float32), np.zeros((count, sum(lengths)), np.float32)
        relevant, lexical = np.zeros((count, candidates), np.float32), np.zeros((count, candidates), np.float32)
        stands_for = np.full((count, candidates), -1e9, np.float32)
        means = np.zeros((count, candidates, items[0].near.means.shape[1]), np.float32)
        products = np.full((sum(lengths), candidates * CLOSEST), -1, np.float32)
        coordinates, rows = [], []
        for at, (item, stop) in enumerate(zip(items, np.cumsum(lengths), strict=True)):
            near, size, own = item.near, len(item.near.relevant), slice(stop - len(item.shares), stop)
            is_of[at, own], shares[at, own] = 1, item.shares
            relevant[at, :size], stands_for[at, :size] = near.relevant, near.stands_for
            lexical[at, :size], means[at, :size] = near.lexical, near.means
            products[own, : size * CLOSEST] = near.products.reshape(len(item.shares), -1)
            padded = np.zeros((len(item.shares), candidates * CLOSEST), np.int64)
            padded[:, : size * CLOSEST] = near.rows.reshape(len(item.shares), -1)
            coordinates.append(torch.from_numpy(near.coordinates.astype(np.float32)).to(device))
            rows.append(torch.from_numpy(padded).to(device))
        queries = np.concatenate([item.vectors for item in items])
        scale = np.array([item.scale for item in items], np.float32)

        def moved(values: npt.NDArray[np.float32]) -> torch.Tensor:
            return torch.from_numpy(values).to(device)

        return cls(
            moved(queries),
            lengths,
            moved(is_of),
            moved(shares),
            moved(scale),
            moved(relevant),
            moved(stands_for),
            moved(lexical),
            moved(means),
            moved(products),
            coordinates,
            rows,
        )
