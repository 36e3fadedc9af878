"""One door to every implementation of the score."""

import operator
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels import blas, native
from chamfer.kernels.best import Best
from chamfer.kernels.codes import CodedDocuments, Codes, RoundedDocuments
from chamfer.kernels.form import Form
from chamfer.kernels.lists import Lists
from chamfer.support.devices import PROCESSOR
from chamfer.support.threads import free_cores, in_threads
from chamfer.tokens.batch import TokenBatch

if TYPE_CHECKING:
    from chamfer.kernels.cuda.documents import DeviceDocuments

__all__ = [
    "Best",
    "CodedDocuments",
    "Codes",
    "Form",
    "Lists",
    "RoundedDocuments",
    "best",
    "best_decoded",
    "best_rounded",
    "minima",
    "normalised",
    "placed",
    "score",
]

# With larger numbers sums of products could leave the range of 32 bits.
LARGEST = 1e9
# Queries are rounded to 16 bits there.
LARGEST_ON_DEVICE = 6e4
# Documents that are decoded at a time: some ten megabytes.
DECODED = 512


def minima(
    query: TokenBatch,
    documents: "TokenBatch | DeviceDocuments",
    *,
    candidates: npt.ArrayLike | None = None,
    form: Form = "l2",
) -> npt.NDArray[np.float32]:
    """Give the distance of each token of one query to the closest token of each candidate.

    Distances do not depend on weights: keep them, and every weighting is ``-minima @ weights / tokens``.

    Args:
        query: a batch of one query.
        documents: where the candidates are.
        candidates: places of documents, in the order wanted; all documents if not given.
        form: ``l2`` or ``cosine``, see :mod:`chamfer.kernels.reference`.

    Returns:
        ``(candidates, query tokens)`` float32; infinite for a document without tokens.
    """
    if len(query) != 1 or len(query.vectors) == 0:
        raise InputError(f"scoring takes one query with tokens, not {len(query)} with {len(query.vectors)}")
    _check(query, documents, form)
    places = _places(candidates, len(documents))
    if not isinstance(documents, TokenBatch):
        from chamfer.kernels.cuda import search  # here, so that nothing else needs Triton

        _check_on_device(query)
        return search.minima(query, documents, None if candidates is None else places, form)
    if documents.vectors.dtype == np.float16 and native.path():
        return native.minima(query.vectors, documents, places, form)
    return blas.minima(query.vectors, documents, places, form)


def placed(documents: TokenBatch, device: str) -> "TokenBatch | DeviceDocuments":
    """The documents as they are, or on a GPU, to compute the :func:`minima` of several queries there."""
    if device == PROCESSOR:
        return documents
    from chamfer.kernels.cuda.documents import DeviceDocuments  # here, so that nothing else needs Triton

    wide = documents.vectors.dtype == np.float32
    return DeviceDocuments.of_tokens(documents, device=device, precisions=["float32"] if wide else None)


def score(distances: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Turn the minima of one query into scores.

    ``score[d] = -mean_i(w_i * minima[d, i])``

    Args:
        distances: ``(documents, query tokens)`` from :func:`minima`.
        weights: ``(query tokens,)``, none negative.

    Returns:
        ``(documents,)`` float32; higher is closer. A document without tokens scores ``-inf``.
    """
    if weights.shape != distances.shape[1:]:
        raise InputError(f"{distances.shape[1]} query tokens need as many weights, not {weights.shape}")
    _check_weights(weights)
    # Not BLAS, which rounds a row by how many others there are: equal documents must score alike in any company.
    empty: npt.NDArray[np.bool_] = np.isinf(distances[:, 0])
    finite = np.where(empty[:, None], np.float32(0), distances)
    return np.where(empty, np.float32(-np.inf), -np.einsum("dt,t->d", finite, weights) / np.float32(len(weights)))


def normalised(
    scores: npt.NDArray[np.floating], weights: npt.NDArray[np.floating], form: Form
) -> npt.NDArray[np.float64]:
    """Scores of one query divided by its total weight: from -2 to 0, which is a perfect match on every token.

    So scores of short and long queries, and of different weights, can be compared with one threshold. Where no token
    has any weight, nothing matches: all are -2.
    """
    total = float(weights.sum())
    if total == 0:
        return np.where(np.isfinite(scores), -2.0, -np.inf)
    divided = scores.astype(np.float64) * len(weights) / total
    return divided if form == "l2" else divided - 1  # a perfect match is a product of 1


def best(
    queries: TokenBatch,
    weights: npt.NDArray[np.float32],
    documents: "CodedDocuments | DeviceDocuments",
    *,
    k: int,
    candidates: Sequence[npt.ArrayLike] | None = None,
    form: Form = "l2",
) -> list[Best]:
    """Find the best documents for each query, where the documents are: on a GPU or not.

    Documents are screened by their 8-bit codes, and only those that can still be among the best are scored from their
    16-bit vectors, in 64-bit arithmetic: the answer is exact. Query tokens without weight are never computed; heavy
    ones come first, so that many documents are dropped before the light ones. Without codes all documents are scored
    in 32-bit arithmetic, which may order scores differently that are equal up to rounding. On a GPU what can still be
    among the best is judged by errors that were seen, not by bounds; see :mod:`chamfer.kernels.cuda.search`.

    Args:
        queries: one or more, each with tokens.
        weights: ``(query tokens,)`` of all queries, none negative.
        documents: where the candidates are.
        k: how many to find.
        candidates: for each query places of documents; all documents if not given.
        form: ``l2`` or ``cosine``, which is the inner product for vectors that are not of unit length.

    >>> axes = np.eye(4, dtype=np.float16)
    >>> documents = CodedDocuments.of(TokenBatch.pack([axes[:1], axes[1:]], [[1], [2, 3, 4]]))
    >>> query = TokenBatch.pack([axes[:1]], [[1]])
    >>> best(query, np.ones(1, np.float32), documents, k=1)[0].places
    array([0])
    """
    if not isinstance(documents, CodedDocuments) and not _is_on_device(documents):
        raise InputError("documents must be coded first: CodedDocuments.of(documents)")
    weights, k = np.asarray(weights, dtype=np.float32), _whole(k)
    _check(queries, documents.tokens if isinstance(documents, CodedDocuments) else documents, form)
    if (queries.lengths == 0).any():
        raise InputError("every query needs at least one token")
    if weights.shape != (len(queries.vectors),):
        raise InputError(f"{len(queries.vectors)} query tokens need as many weights, not {weights.shape}")
    _check_weights(weights)
    if k < 0:
        raise InputError(f"cannot find {k} documents")
    if candidates is not None and len(candidates) != len(queries):
        raise InputError(f"{len(queries)} queries need as many lists of candidates, not {len(candidates)}")
    if not isinstance(documents, CodedDocuments):
        return _best_on_device(queries, weights, documents, k, candidates, form)
    chosen = [
        _places(None if candidates is None else candidates[n], len(documents.tokens)) for n in range(len(queries))
    ]
    one_each = len(queries) >= free_cores() > 1

    def find(n: int) -> Best:
        query = slice(queries.offsets[n], queries.offsets[n + 1])
        if documents.codes is None or not native.path():
            return _best_of_all(queries[n], weights[query], documents.tokens, chosen[n], k, form)
        order, scores, read, computed, possible = native.best(
            queries.vectors[query], weights[query], documents, chosen[n], k, form, 1 if one_each else free_cores()
        )
        return Best(chosen[n][order], scores, read, 1 - computed / possible if possible else 0.0)

    numbers = range(len(queries))
    return in_threads(find, numbers) if one_each else [find(n) for n in numbers]


def best_rounded(
    query: TokenBatch,
    weights: npt.NDArray[np.float32],
    documents: RoundedDocuments,
    take: Callable[[npt.NDArray[np.int64]], TokenBatch],
    *,
    k: int,
    candidates: npt.ArrayLike | None = None,
    form: Form = "l2",
) -> Best:
    """Find the best documents for one query where only codes are kept.

    Codes tell which documents can be among the best; ``take`` decodes those, and they are scored as vectors are.
    """
    places = _places(candidates, len(documents.offsets) - 1)
    chosen = places
    if native.path():
        filled = np.diff(documents.offsets)[places] > 0
        found = native.promising(query.vectors, weights, documents, places[filled], k, form)
        empty = np.flatnonzero(~filled)[: max(0, k - len(found))]
        chosen = places[np.sort(np.concatenate([np.flatnonzero(filled)[found], empty]))]
    return best_decoded(query, weights, take, k=k, candidates=[chosen], form=form)[0]


def best_decoded(
    queries: TokenBatch,
    weights: npt.NDArray[np.float32],
    take: Callable[[npt.NDArray[np.int64]], TokenBatch],
    *,
    k: int,
    candidates: Sequence[npt.NDArray[np.int64]],
    form: Form = "l2",
) -> list[Best]:
    """Find the best documents for each query by decoding and scoring all candidates, some hundred at a time.

    A list of candidates that queries share, the same array, is decoded once for all of them.
    """
    scores: list[list[npt.NDArray[np.float32]]] = [[] for _ in candidates]
    sharing: dict[int, list[int]] = {}
    for place, own in enumerate(candidates):
        sharing.setdefault(id(own), []).append(place)
    for places in sharing.values():
        shared = candidates[places[0]]
        for start in range(0, len(shared), DECODED):
            documents = take(shared[start : start + DECODED])
            for place in places:
                own_weights = weights[queries.offsets[place] : queries.offsets[place + 1]]
                scores[place].append(score(minima(queries[place], documents, form=form), own_weights))
    nothing = np.empty(0, np.float32)
    return [_first(own, np.concatenate([*found, nothing]), k) for own, found in zip(candidates, scores, strict=True)]


def _best_on_device(
    queries: TokenBatch,
    weights: npt.NDArray[np.float32],
    documents: "DeviceDocuments",
    k: int,
    candidates: Sequence[npt.ArrayLike] | None,
    form: Form,
) -> list[Best]:
    from chamfer.kernels.cuda import search  # here, so that nothing else needs Triton

    if len(queries) == 0:
        return []
    _check_on_device(queries)
    chosen = None if candidates is None else [_places(own, len(documents)) for own in candidates]
    return search.best(queries, weights, documents, chosen, k, form)


def _is_on_device(documents: object) -> "TypeGuard[DeviceDocuments]":
    """Without importing Triton: where nobody has, nothing is on a GPU."""
    loaded = sys.modules.get("chamfer.kernels.cuda.documents")
    return loaded is not None and isinstance(documents, loaded.DeviceDocuments)


def _check_on_device(queries: TokenBatch) -> None:
    if float(np.abs(queries.vectors).max()) > LARGEST_ON_DEVICE:
        raise InputError(f"query vectors hold numbers above {LARGEST_ON_DEVICE:g}; normalise them first")


def _whole(k: int) -> int:
    try:
        return min(operator.index(k), np.iinfo(np.int64).max)
    except TypeError:
        raise InputError(f"how many documents to find must be a whole number, not {k!r}") from None


def _best_of_all(
    query: TokenBatch,
    weights: npt.NDArray[np.float32],
    documents: TokenBatch,
    candidates: npt.NDArray[np.int64],
    k: int,
    form: Form,
) -> Best:
    return _first(candidates, score(minima(query, documents, candidates=candidates, form=form), weights), k)


def _first(candidates: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], k: int) -> Best:
    if np.isnan(scores).any():
        raise InputError("a document got a score that is not a number; its vectors are broken")
    order = np.argsort(-scores, kind="stable")[:k]
    return Best(candidates[order], scores[order], len(candidates), 0.0)


def _check(queries: TokenBatch, documents: "TokenBatch | DeviceDocuments", form: Form) -> None:
    if form not in ("l2", "cosine"):
        raise InputError(f"the form of the score is 'l2' or 'cosine', not {form!r}")
    if queries.dimensions != documents.dimensions:
        raise InputError(
            f"queries have {queries.dimensions} dimensions but documents have {documents.dimensions}; "
            "encode both with one model"
        )
    if len(queries.vectors) and float(np.abs(queries.vectors).max()) > LARGEST:
        raise InputError(f"query vectors hold numbers above {LARGEST:g}; normalise them first")


def _check_weights(weights: npt.NDArray[np.float32]) -> None:
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("token weights must be finite and not negative")
    if (weights > LARGEST).any():
        raise InputError(f"token weights must not be above {LARGEST:g}; divide them all by one number")


def _places(candidates: npt.ArrayLike | None, documents: int) -> npt.NDArray[np.int64]:
    if candidates is None:
        return np.arange(documents)
    given = np.asarray(candidates)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise InputError(f"candidates must be a list of whole numbers, not {given.dtype} of shape {given.shape}")
    places = np.ascontiguousarray(given, dtype=np.int64)
    if len(places) and (places.min() < 0 or places.max() >= documents):
        raise InputError(f"candidates must be places from 0 to {documents - 1}")
    return places
