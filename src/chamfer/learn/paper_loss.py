"""The paper's loss and its gradient, over packed minima.

For a query with relevant documents ``D+``, the loss is ``alpha * CE(L1) + (1 - alpha) * CE(L2)``, where ``CE`` sums
over ``D+`` the cross-entropy of the softmax over ``D+`` and the ``|L1|``, or ``|L2|``, closest other candidates. It is
convex in the weights even though the closest candidates change with them: docs/explanation/paper-recipe.md.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import Block, cross_entropy, pack, slots_of, tokens_seen
from chamfer.learn.presets import Preset

Weights = npt.NDArray[np.float64]
"""``(seen,)``: a weight for each token that occurs in the queries."""


class PaperLoss:
    """The loss of some queries as a function of the weights of their tokens.

    Args:
        queries: judged queries with their minima.
        preset: share of the first loss, and numbers of negatives.
        temperature: factor of all scores.
        fixed_negatives: whether the negatives are the candidates that are closest under uniform weights, instead of
            those that are closest under the weights that the loss is computed for.
        share_ties: whether candidates that tie for the last place among the negatives share it. To count each of them
            once makes a loss that jumps where they tie, as duplicates always do, and that is not convex.
        dtype: of the arithmetic. With weights that sum to 1, the loss differs only from its fifth digit on, so whoever
            compares losses needs 64 bits; for the gradient alone, 32 bits are enough and faster.
    """

    def __init__(
        self,
        queries: Sequence[JudgedQuery],
        preset: Preset,
        *,
        temperature: float = 1.0,
        fixed_negatives: bool = False,
        share_ties: bool = True,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> None:
        self.seen = tokens_seen(queries)
        self._terms = [
            (part, negatives)
            for part, negatives in ((preset.alpha, preset.closest), (1 - preset.alpha, preset.closer))
            if part > 0
        ]
        self._share_ties, self._dtype = share_ties, dtype
        self._blocks = pack(queries, with_vectors=False)
        self._distances = [block.distances.astype(dtype, copy=False) for block in self._blocks]
        self._slots = [slots_of(block, self.seen) for block in self._blocks]
        self._shares = [temperature / block.is_token.sum(axis=1, keepdims=True, dtype=dtype) for block in self._blocks]
        self._fixed: list[list[npt.NDArray[Any]]] | None = None
        if fixed_negatives:
            self._fixed = [
                self._log_counts(scores, block)
                for block, scores in zip(self._blocks, self._scores(np.ones(len(self.seen))), strict=True)
            ]

    def __call__(self, weights: Weights) -> tuple[float, Weights]:
        """Return the loss and its gradient; where two candidates tie for the last place, a subgradient."""
        loss, gradient = 0.0, np.zeros(len(self.seen) + 1)
        for at, (block, scores) in enumerate(zip(self._blocks, self._scores(weights), strict=True)):
            relevant = block.relevant.sum(axis=1, keepdims=True)
            of_scores = np.zeros_like(scores)
            counts = self._fixed[at] if self._fixed else self._log_counts(scores, block)
            for (part, _), counted in zip(self._terms, counts, strict=True):
                losses, of_term = cross_entropy(scores + counted, block.relevant, block.is_candidate)
                # The paper sums over the relevant documents of a query; cross_entropy takes their mean.
                loss += part * float(losses @ relevant[:, 0])
                of_scores += part * of_term
            of_scores *= relevant
            of_tokens = -np.matmul(of_scores[:, None, :], self._distances[at])[:, 0, :] * self._shares[at]
            gradient += np.bincount(self._slots[at].ravel(), of_tokens.ravel(), len(gradient))
        return loss, gradient[:-1]

    def _scores(self, weights: Weights) -> Iterator[npt.NDArray[Any]]:
        """``(q, c)`` scores of each block."""
        padded = np.append(weights, 0).astype(self._dtype)
        for distances, slots, shares in zip(self._distances, self._slots, self._shares, strict=True):
            yield -np.matmul(distances, (padded[slots] * shares)[:, :, None])[:, :, 0]

    def _log_counts(self, scores: npt.NDArray[Any], block: Block) -> list[npt.NDArray[Any]]:
        """``(q, c)`` for each term: logarithm of how often a candidate counts, relevant and hardest ones once."""
        others = np.where(block.is_candidate & ~block.relevant, scores, -np.inf)
        places = [-negatives for _, negatives in self._terms if negatives < scores.shape[1]]
        ordered = np.partition(others, places, axis=1) if places else others
        found = []
        for _, negatives in self._terms:
            counts = np.ones_like(scores)
            if negatives < scores.shape[1]:
                bar = ordered[:, -negatives, None]
                above, tied = others > bar, others == bar
                left = negatives - above.sum(axis=1, keepdims=True)
                shared = left / tied.sum(axis=1, keepdims=True) if self._share_ties else 1
                counts = np.where(block.relevant | above, 1, np.where(tied, shared, 0)).astype(scores.dtype)
            with np.errstate(divide="ignore"):
                found.append(np.log(counts))
        return found
