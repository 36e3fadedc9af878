"""The document tokens that may be the closest to a query token after a small move of the query.

An adapter moves query vectors a little, so the closest document token after the move was among the closest few before.
These few are found once per query; learning then needs their products with the query, and their coordinates in the
directions that the adapter can move queries in.
"""

import threading
import zlib
from collections.abc import Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import Pool, candidates_of
from chamfer.weights.token_weights import TokenWeights

Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]
Integers = npt.NDArray[np.int32]

# Document tokens that are kept for each pair of a query token and a candidate.
CLOSEST = 4
# Candidates and query tokens to learn from; of more, a sample is drawn.
POOL = Pool(closest=44, drawn=20)
MOST_RELEVANT, MOST_TOKENS = 16, 64


class Neighbours(NamedTuple):
    """What an adapter is learnt from, for one query: ``t`` tokens, ``c`` candidates, ``k`` neighbours of each pair.

    Args:
        tokens: ``(t,)`` positions of the query tokens.
        relevant: ``(c,)`` whether each candidate is relevant.
        stands_for: ``(c,)`` logarithm of the number of candidates that each stands for.
        lexical: ``(c,)`` BM25's scores.
        means: ``(c, dimensions)`` mean vectors.
        products: ``(t, c, k)`` products before the move; a candidate with fewer tokens has some of them twice.
        rows: ``(t, c, k)`` rows in ``coordinates``.
        coordinates: ``(rows, directions)`` coordinates of document tokens.
    """

    tokens: npt.NDArray[np.int64]
    relevant: npt.NDArray[np.bool_]
    stands_for: Floats
    lexical: Floats
    means: Halves
    products: Halves
    rows: Integers
    coordinates: Halves


_found: WeakKeyDictionary[JudgedQuery, Neighbours] = WeakKeyDictionary()
_lock = threading.Lock()


def neighbours_of(query: JudgedQuery, prior: TokenWeights, directions: Floats) -> Neighbours:
    """Find the neighbours of a query's tokens; once per query, because every fold needs them.

    Args:
        query: judged query with evidence.
        prior: weights that tell which candidates are close; equal in all calls for a query.
        directions: ``(dimensions, directions)`` orthonormal; equal in all calls for a query.
    """
    with _lock:
        known = _found.get(query)
    if known is None:
        known = _find(query, prior, directions)
        with _lock:
            _found[query] = known
    return known


def forget(queries: Iterable[JudgedQuery]) -> None:
    """Drop the neighbours of some queries; a query takes up to a megabyte for as long as it is kept."""
    with _lock:
        for query in queries:
            _found.pop(query, None)


def _find(query: JudgedQuery, prior: TokenWeights, directions: Floats) -> Neighbours:
    if query.vectors_of is None or query.places is None:
        raise InputError(f"an adapter cannot be learnt without the vectors of the candidates of {query.query_id!r}")
    generator = np.random.default_rng(zlib.crc32(query.query_id.encode()))
    kept, stands_for = candidates_of(query, POOL, prior)
    relevant = query.grades[kept] > 0
    if relevant.sum() > MOST_RELEVANT:
        left_out = generator.permutation(np.flatnonzero(relevant))[MOST_RELEVANT:]
        stays = ~np.isin(np.arange(len(kept)), left_out)
        kept, stands_for, relevant = kept[stays], stands_for[stays], relevant[stays]
    tokens = np.arange(len(query.token_ids))
    if len(tokens) > MOST_TOKENS:
        tokens = np.sort(generator.choice(tokens, MOST_TOKENS, replace=False))
    documents = query.vectors_of.tokens(query.places[kept])
    vectors = documents.vectors.astype(np.float32)
    products = query.vectors[tokens].astype(np.float32) @ vectors.T
    rows = np.zeros((len(tokens), len(kept), CLOSEST), np.int64)
    closest = np.zeros(rows.shape, np.float32)
    for at, (start, stop) in enumerate(zip(documents.offsets[:-1], documents.offsets[1:], strict=True)):
        own, count = products[:, start:stop], min(CLOSEST, int(stop - start))
        best = np.argpartition(own, -count, axis=1)[:, -count:]
        best = best[:, np.arange(CLOSEST) % count]
        rows[:, at], closest[:, at] = best + start, np.take_along_axis(own, best, axis=1)
    used, places = np.unique(rows, return_inverse=True)
    return Neighbours(
        tokens,
        relevant,
        stands_for,
        query.evidence()[0][kept],
        query.vectors_of.means(query.places[kept]).astype(np.float16),
        closest.astype(np.float16),
        places.reshape(rows.shape).astype(np.int32),
        (vectors[used] @ directions).astype(np.float16),
    )
