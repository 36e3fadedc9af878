"""The loss that the recipes minimise and its gradient, over packed minima.

For a query with weights ``w_i`` and a candidate with minima ``m_i``

    s = -temperature * sum_i w_i m_i / sum_i prior_i

and the loss of the query is the mean, over its relevant documents, of the cross-entropy of the softmax over the
relevant documents and the hard negatives.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery, teachable

Floats = npt.NDArray[np.float32]

# Queries of similar length share a padded block: large enough that the overhead of NumPy calls does not matter, small
# enough that one long query does not pad a thousand short ones.
QUERIES_PER_BLOCK = 64


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
    """

    distances: Floats
    token_ids: npt.NDArray[np.int32]
    vectors: Floats
    is_token: npt.NDArray[np.bool_]
    relevant: npt.NDArray[np.bool_]
    is_candidate: npt.NDArray[np.bool_]


def pack(queries: Sequence[JudgedQuery], *, pool: int | None = None, with_vectors: bool = True) -> list[Block]:
    """Pack queries into blocks.

    Args:
        queries: judged queries to learn from.
        pool: number of candidates to include in addition to the relevant documents: the closest under uniform weights;
            all by default.
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
        _pack_block(queries, order[start : start + QUERIES_PER_BLOCK], pool, with_vectors=with_vectors)
        for start in range(0, len(order), QUERIES_PER_BLOCK)
    ]


def cross_entropy(
    scores: Floats,
    relevant: npt.NDArray[np.bool_],
    is_candidate: npt.NDArray[np.bool_],
    negatives: int,
) -> tuple[Floats, Floats]:
    """Return the loss of each query and its gradient with respect to the scores.

    ``loss = -mean over relevant d of log(exp(s_d) / sum over relevant and the hardest negatives of exp(s))``

    Args:
        scores: ``(q, c)``, higher is closer.
        relevant: ``(q, c)``; every query has at least one.
        is_candidate: ``(q, c)`` false where there is padding.
        negatives: number of hard negatives: the best-scoring candidates that are not relevant.

    Returns:
        ``(q,)`` and ``(q, c)``.
    """
    others = np.where(is_candidate & ~relevant, scores, -np.inf)
    if others.shape[1] > negatives:
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


def _pack_block(queries: Sequence[JudgedQuery], places: list[int], pool: int | None, *, with_vectors: bool) -> Block:
    kept = [_hardest(queries[place], pool) for place in places]
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
    )
    for row, (place, rows) in enumerate(zip(places, kept, strict=True)):
        query = queries[place]
        length = len(query.token_ids)
        block.distances[row, : len(rows), :length] = query.distances[rows]
        block.token_ids[row, :length] = query.token_ids
        block.vectors[row, :length] = query.vectors[:, :dimensions]
        block.is_token[row, :length] = True
        block.relevant[row, : len(rows)] = query.grades[rows] > 0
        block.is_candidate[row, : len(rows)] = True
    return block


def _hardest(query: JudgedQuery, pool: int | None) -> npt.NDArray[np.int64]:
    """Return the candidates to learn from: those with tokens that are relevant or among the ``pool`` closest."""
    far = query.distances.sum(axis=1)
    filled = np.isfinite(far)
    if pool is None or filled.sum() <= pool:
        return np.flatnonzero(filled)
    bar = np.partition(far, pool)[pool]
    return np.flatnonzero(filled & ((far < bar) | (query.grades > 0)))
