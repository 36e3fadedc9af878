"""The loss that the recipes minimise and its gradient, over packed minima.

For a query with weights ``w_i`` and a candidate with minima ``m_i``

    s = -temperature * sum_i w_i m_i / sum_i prior_i          temperature = 20 times a factor that is learnt

and the loss of the query is the mean, over its relevant documents, of the cross-entropy of the softmax over the
relevant documents and the negatives.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery, teachable
from chamfer.weights.mix import EVIDENCE
from chamfer.weights.token_weights import TokenWeights

Floats = npt.NDArray[np.float32]

# Queries of similar length share a padded block: large enough that the overhead of NumPy calls does not matter, small
# enough that one long query does not pad a thousand short ones.
QUERIES_PER_BLOCK = 64


class Pool(NamedTuple):
    """Which candidates of a query are learnt from beside its relevant documents.

    The closest ones alone would not do: whatever is far then is relevant, and learning would find that far is good.
    Each drawn candidate stands for several that were not drawn, so ``log((others) / drawn)`` is added to its score.
    """

    closest: int = 100
    """Number of candidates that are closest under the prior."""
    drawn: int = 60
    """Number of candidates that are drawn at random from the others."""
    seed: int = 0
    """Random seed."""


@dataclass(frozen=True, eq=False)
class Block:
    """Queries padded to one shape: ``q`` queries, ``c`` candidates, ``t`` tokens.

    Args:
        distances: ``(q, c, t)``; 0 where there is no token.
        token_ids: ``(q, t)``; 0 where there is no token.
        vectors: ``(q, t, dimensions)``.
        is_token: ``(q, t)``.
        relevant: ``(q, c)``.
        is_candidate: ``(q, c)``.
        stands_for: ``(q, c)`` logarithm of the number of candidates that each stands for.
        evidence: ``(q, c, 2)`` lexical and pooled evidence; 0 where there is no candidate.
    """

    distances: Floats
    token_ids: npt.NDArray[np.int32]
    vectors: Floats
    is_token: npt.NDArray[np.bool_]
    relevant: npt.NDArray[np.bool_]
    is_candidate: npt.NDArray[np.bool_]
    stands_for: Floats
    evidence: Floats


def pack(
    queries: Sequence[JudgedQuery],
    *,
    pool: Pool | None = None,
    prior: TokenWeights | None = None,
    with_vectors: bool = True,
) -> list[Block]:
    """Pack queries into blocks.

    Args:
        queries: judged queries to learn from.
        pool: which candidates to learn from; all by default.
        prior: weights that tell which candidates are close; uniform by default.
        with_vectors: whether to include token vectors, which take most of the memory.
    """
    if not queries:
        raise InputError("learning needs at least one judged query")
    _, left_out = teachable(queries)
    idle = (*left_out.without_relevant, *left_out.without_negatives)
    if idle:
        raise InputError(f"query {idle[0]!r} has no usable positive and negative; filter with teachable() first")
    order = sorted(range(len(queries)), key=lambda place: len(queries[place].token_ids))
    return [
        _pack_block(queries, order[start : start + QUERIES_PER_BLOCK], pool, prior, with_vectors=with_vectors)
        for start in range(0, len(order), QUERIES_PER_BLOCK)
    ]


def cross_entropy(
    scores: Floats,
    relevant: npt.NDArray[np.bool_],
    is_candidate: npt.NDArray[np.bool_],
    negatives: int | None = None,
) -> tuple[Floats, Floats]:
    """Return the loss of each query and its gradient with respect to the scores.

    ``loss = -mean over relevant d of log(exp(s_d) / sum over relevant and the hardest negatives of exp(s))``

    Args:
        scores: ``(q, c)``, higher is closer.
        relevant: ``(q, c)``; every query has at least one.
        is_candidate: ``(q, c)`` false where there is padding.
        negatives: number of hard negatives: the best-scoring candidates that are not relevant; all by default.

    Returns:
        ``(q,)`` and ``(q, c)``.
    """
    others = np.where(is_candidate & ~relevant, scores, -np.inf)
    if negatives is not None and others.shape[1] > negatives:
        bar = np.partition(others, -negatives, axis=1)[:, -negatives, None]
        others = np.where(others >= bar, others, -np.inf)
    counted = np.where(relevant, scores, others)
    highest = counted.max(axis=1, keepdims=True)
    shares = np.exp(counted - highest)
    total = shares.sum(axis=1, keepdims=True)
    per_relevant = relevant / relevant.sum(axis=1, keepdims=True, dtype=np.float32)
    mean_relevant = np.where(relevant, scores, 0) * per_relevant
    loss = (highest + np.log(total))[:, 0] - mean_relevant.sum(axis=1)
    return loss, shares / total - per_relevant


def tokens_seen(queries: Iterable[JudgedQuery]) -> npt.NDArray[np.int32]:
    """Return the sorted distinct token ids of some queries."""
    return np.unique(np.concatenate([query.token_ids for query in queries]))


def slots_of(block: Block, seen: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return ``(q, t)`` places of tokens among the seen ones; padding points past the last."""
    return np.where(block.is_token, np.searchsorted(seen, block.token_ids), len(seen))


def _pack_block(
    queries: Sequence[JudgedQuery],
    places: list[int],
    pool: Pool | None,
    prior: TokenWeights | None,
    *,
    with_vectors: bool,
) -> Block:
    chosen = [candidates_of(queries[place], pool, prior) for place in places]
    kept = [rows for rows, _ in chosen]
    tokens = max(len(queries[place].token_ids) for place in places)
    widest = max(len(rows) for rows in kept)
    dimensions = queries[places[0]].vectors.shape[1] if with_vectors else 0
    count = len(places)
    block = Block(
        distances=np.zeros((count, widest, tokens), np.float32),
        token_ids=np.zeros((count, tokens), np.int32),
        vectors=np.zeros((count, tokens, dimensions), np.float32),
        is_token=np.zeros((count, tokens), np.bool_),
        relevant=np.zeros((count, widest), np.bool_),
        is_candidate=np.zeros((count, widest), np.bool_),
        stands_for=np.zeros((count, widest), np.float32),
        evidence=np.zeros((count, widest, len(EVIDENCE)), np.float32),
    )
    for row, (place, (rows, stands_for)) in enumerate(zip(places, chosen, strict=True)):
        query = queries[place]
        length = len(query.token_ids)
        block.distances[row, : len(rows), :length] = query.distances[rows]
        block.token_ids[row, :length] = query.token_ids
        block.vectors[row, :length] = query.vectors[:, :dimensions]
        block.is_token[row, :length] = True
        block.relevant[row, : len(rows)] = query.grades[rows] > 0
        block.is_candidate[row, : len(rows)] = True
        block.stands_for[row, : len(rows)] = stands_for
        block.evidence[row, : len(rows)] = np.stack([one[rows] for one in query.evidence()], axis=1)
    return block


def candidates_of(
    query: JudgedQuery, pool: Pool | None, prior: TokenWeights | None
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the candidates to learn from, and the logarithm of how many each stands for; all have tokens.

    Relevant ones come first, then the closest others, then those that are drawn.
    """
    weights = np.ones(len(query.token_ids), np.float32) if prior is None else prior.table[query.token_ids]
    far = query.distances @ weights
    if prior is not None and prior.mix:
        lexical, pooled = query.evidence()
        far = far - len(weights) * prior.mix.added(weights, lexical=lexical, pooled=pooled)
    usable = np.flatnonzero(np.isfinite(far))
    relevant = query.grades[usable] > 0
    others = usable[~relevant]
    if pool is None or len(others) <= pool.closest + pool.drawn:
        return usable, np.zeros(len(usable), np.float32)
    closeness = np.argpartition(far[others], pool.closest)
    closest, rest = others[closeness[: pool.closest]], others[closeness[pool.closest :]]
    generator = np.random.default_rng([pool.seed, zlib.crc32(query.query_id.encode())])
    drawn = generator.choice(np.sort(rest), pool.drawn, replace=False)
    kept = np.concatenate([usable[relevant], closest, drawn])
    stands_for = np.zeros(len(kept), np.float32)
    stands_for[len(kept) - pool.drawn :] = np.log(len(rest) / pool.drawn)
    return kept, stands_for
