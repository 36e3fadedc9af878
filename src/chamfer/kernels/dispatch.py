"""The one place that chooses an implementation of the score: GPU, native kernel or NumPy."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels import blas, native
from chamfer.kernels.best import Best
from chamfer.kernels.checks import check_queries, checked_candidates, checked_k, checked_offsets, checked_weights
from chamfer.kernels.documents import CodedDocuments, Documents, QuantizedDocuments, ResidualDocuments
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.support.devices import CPU
from chamfer.support.threads import free_cores, map_in_threads
from chamfer.tokens.batch import TokenBatch

if TYPE_CHECKING:
    from chamfer.kernels.cuda.documents import DeviceDocuments

T = TypeVar("T")
R = TypeVar("R")
Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

# Documents decoded at a time: about ten megabytes.
DECODED = 512


def minima(
    query: TokenBatch,
    documents: TokenBatch | Documents,
    *,
    candidates: npt.ArrayLike | None = None,
    form: Form = DEFAULT_FORM,
) -> Floats:
    """Compute the distance from each token of one query to the closest token of each candidate.

    Distances do not depend on weights: compute them once, and every weighting is ``-minima @ weights / tokens``.

    Args:
        query: a batch of one query.
        documents: the documents that candidates are places in.
        candidates: places of documents, in the order of the result; all documents by default.
        form: ``l2`` or ``cosine``, see :mod:`chamfer.kernels.reference`.

    Returns:
        ``(candidates, query tokens)`` float32; infinite for a document without tokens.
    """
    if len(query) != 1 or len(query.vectors) == 0:
        raise InputError(
            f"minima are of one query with tokens; got {len(query)} queries with {len(query.vectors)} tokens"
        )
    on_gpu = None if isinstance(documents, TokenBatch) else documents.on_device
    check_queries(query, documents.dimensions, form, on_device=on_gpu is not None)
    places = None if candidates is None else checked_candidates(candidates, len(documents))
    if places is not None and not len(places):
        return np.zeros((0, len(query.vectors)), np.float32)
    if on_gpu is not None:
        from chamfer.kernels.cuda import search  # here, so that nothing else needs Triton

        return search.minima(query, on_gpu, places, form)
    if places is None:
        places = np.arange(len(documents))
    tokens = documents if isinstance(documents, TokenBatch) else documents.tokens
    if tokens is None:
        tokens, places = documents.take(places), np.arange(len(places))
    if tokens.vectors.dtype == np.float16 and native.path():
        return native.minima(query.vectors, tokens, places, form)
    return blas.minima(query.vectors, tokens, places, form)


def on_device(documents: TokenBatch, device: str) -> "TokenBatch | DeviceDocuments":
    """Documents ready for :func:`minima` on a device: copied to the GPU, or as they are for the CPU."""
    if device == CPU:
        return documents
    from chamfer.kernels.cuda.documents import DeviceDocuments  # here, so that nothing else needs Triton

    wide = documents.vectors.dtype == np.float32
    return DeviceDocuments.of_tokens(documents, device=device, precisions=["float32"] if wide else None)


def score(distances: Floats, weights: Floats) -> Floats:
    """Turn the minima of one query into scores.

    ``score[d] = -mean_i(w_i * minima[d, i])``

    Args:
        distances: ``(documents, query tokens)`` from :func:`minima`.
        weights: ``(query tokens,)``, none negative.

    Returns:
        ``(documents,)`` float32; higher is closer. A document without tokens scores ``-inf``.
    """
    weights = checked_weights(weights, distances.shape[1])
    # Not BLAS, whose rounding depends on the number of rows: equal documents must score alike in every batch.
    empty: npt.NDArray[np.bool_] = np.isinf(distances[:, 0])
    finite = np.where(empty[:, None], np.float32(0), distances)
    return np.where(empty, np.float32(-np.inf), -np.einsum("dt,t->d", finite, weights) / np.float32(len(weights)))


def best(
    queries: TokenBatch,
    weights: npt.ArrayLike,
    documents: Documents,
    *,
    k: int,
    candidates: Sequence[npt.ArrayLike] | None = None,
    form: Form = DEFAULT_FORM,
    offsets: Sequence[npt.ArrayLike] | None = None,
) -> list[Best]:
    """Find the top k documents for each query.

    ``score[d] = -mean_i(w_i * minima[d, i]) + offsets[d]``; a document without tokens scores ``-inf``.

    The method depends on how the documents are stored:

    - On a GPU: screened and refined there, see :mod:`chamfer.kernels.cuda.search`.
    - 16-bit vectors with 8-bit codes: the codes rule out most documents, and the rest are scored from their vectors
      in 64-bit arithmetic. The answer is exact. Query tokens of weight 0 are skipped; the heaviest come first, so that
      most documents are ruled out before the light ones. Low offsets rule documents out before any token.
    - 16-bit vectors without codes, or without the native kernel: every candidate is scored in 32-bit arithmetic, which
      may swap documents whose scores are equal up to rounding.
    - 8-bit codes alone, or residuals: they rule out most documents; the rest are decoded and scored in 32-bit
      arithmetic.
    - Anything else: every candidate is decoded and scored in 32-bit arithmetic.

    Args:
        queries: one or more queries, each with tokens.
        weights: ``(query tokens,)`` of all queries, none negative.
        documents: the documents that candidates are places in.
        k: number of documents to find.
        candidates: places of documents, for each query; all documents by default. Ties are broken by their order.
        form: ``l2`` or ``cosine``, which is the inner product for vectors that are not of unit length.
        offsets: for each query, a number for each of its candidates that is added to the candidate's score: evidence
            other than its tokens. No offsets by default.

    >>> axes = np.eye(4, dtype=np.float16)
    >>> documents = CodedDocuments.of(TokenBatch.pack([axes[:1], axes[1:]], [[1], [2, 3, 4]]))
    >>> query = TokenBatch.pack([axes[:1]], [[1]])
    >>> best(query, [1.0], documents, k=1)[0].places
    array([0])
    >>> best(query, [1.0], documents, k=1, offsets=[[0.0, 2.0]])[0].places
    array([1])
    """
    if isinstance(documents, TokenBatch):
        raise InputError("best() takes documents, not a TokenBatch; wrap it with CodedDocuments.of(documents)")
    on_gpu = documents.on_device
    check_queries(queries, documents.dimensions, form, on_device=on_gpu is not None)
    weights, k = checked_weights(weights, len(queries.vectors)), checked_k(k)
    if candidates is not None and len(candidates) != len(queries):
        raise InputError(f"got {len(candidates)} lists of candidates for {len(queries)} queries")
    chosen = None if candidates is None else [checked_candidates(own, len(documents)) for own in candidates]
    if offsets is not None:
        counts = [len(documents)] * len(queries) if chosen is None else [len(own) for own in chosen]
        offsets = checked_offsets(offsets, counts)
    if len(queries) == 0:
        return []
    if on_gpu is not None:
        from chamfer.kernels.cuda import search  # here, so that nothing else needs Triton

        return search.best(queries, weights, on_gpu, chosen, k, form, offsets)
    if chosen is None:
        chosen = [np.arange(len(documents))] * len(queries)
    asked = _Asked(queries, weights, k, form, offsets)
    coded = documents.coded if native.path() else None
    if isinstance(coded, CodedDocuments):
        return _screened(asked, coded, chosen)
    if documents.tokens is not None:
        return _scored(asked, documents.tokens, chosen)
    if coded is not None:
        left = _each(partial(_survivors, asked, coded, chosen), range(len(chosen)))
        chosen = [places[own] for places, own in zip(chosen, left, strict=True)]
        if offsets is not None:
            asked = asked._replace(offsets=[given[own] for given, own in zip(offsets, left, strict=True)])
    return _decoded(asked, documents, chosen)


class _Asked(NamedTuple):
    """Valid arguments of :func:`best`."""

    queries: TokenBatch
    weights: Floats
    k: int
    form: Form
    offsets: Sequence[Floats] | None

    def weights_of(self, n: int) -> Floats:
        """The weights of one query."""
        return self.weights[self.queries.offsets[n] : self.queries.offsets[n + 1]]

    def offsets_of(self, n: int) -> Floats | None:
        """The offsets of the candidates of one query."""
        return None if self.offsets is None else self.offsets[n]

    def top(self, n: int, candidates: Places, scores: Floats) -> Best:
        """The top k for one query by the scores of all its candidates, which lack their offsets."""
        offsets = self.offsets_of(n)
        scores = scores if offsets is None else scores + offsets
        order = np.argsort(-scores, kind="stable")[: self.k]
        return Best(candidates[order], scores[order], len(candidates), 0.0)


def _screened(asked: _Asked, documents: CodedDocuments, chosen: list[Places]) -> list[Best]:
    def find(n: int) -> Best:
        query, weights = asked.queries[n].vectors, asked.weights_of(n)
        order, scores, read, computed, possible = native.best(
            query, weights, documents.handle, chosen[n], asked.k, asked.form, free_cores(), asked.offsets_of(n)
        )
        return Best(chosen[n][order], scores, read, 1 - computed / possible if possible else 0.0)

    return _each(find, range(len(asked.queries)))


def _scored(asked: _Asked, tokens: TokenBatch, chosen: list[Places]) -> list[Best]:
    def find(n: int) -> Best:
        distances = minima(asked.queries[n], tokens, candidates=chosen[n], form=asked.form)
        return asked.top(n, chosen[n], score(distances, asked.weights_of(n)))

    return _each(find, range(len(asked.queries)))


def _each(find: Callable[[T], R], asked: Sequence[T]) -> list[R]:
    """Answer queries: one in each thread if there are enough of them, rather than all threads for one at a time."""
    return map_in_threads(find, asked) if len(asked) >= free_cores() > 1 else [find(one) for one in asked]


def _survivors(
    asked: _Asked, documents: QuantizedDocuments | ResidualDocuments, chosen: list[Places], n: int
) -> Places:
    """Positions of the candidates of one query that can be in the top k by their codes or residuals, ascending.

    Documents without tokens, which score last, are among them only if there are fewer than k others.
    """
    places = chosen[n]
    filled = np.diff(documents.offsets)[places] > 0
    query, weights, offsets = asked.queries[n].vectors, asked.weights_of(n), asked.offsets_of(n)
    own = None if offsets is None else offsets[filled]
    found = native.survivors(query, weights, documents.handle, places[filled], asked.k, asked.form, own)
    empty = np.flatnonzero(~filled)[: max(0, asked.k - len(found))]
    order: Places = np.sort(np.concatenate([np.flatnonzero(filled)[found], empty]))
    return order


def _decoded(asked: _Asked, documents: Documents, chosen: list[Places]) -> list[Best]:
    """Decode and score every candidate; a list that several queries share, the same array, is decoded once."""
    scores: list[list[Floats]] = [[np.empty(0, np.float32)] for _ in chosen]
    sharing: dict[int, list[int]] = {}
    for n, places in enumerate(chosen):
        sharing.setdefault(id(places), []).append(n)

    def decode(numbers: list[int]) -> None:
        shared = chosen[numbers[0]]
        for start in range(0, len(shared), DECODED):
            tokens = documents.take(shared[start : start + DECODED])
            for n in numbers:
                distances = minima(asked.queries[n], tokens, form=asked.form)
                scores[n].append(score(distances, asked.weights_of(n)))

    _each(decode, list(sharing.values()))
    return [asked.top(n, places, np.concatenate(scores[n])) for n, places in enumerate(chosen)]
