"""The top k documents for queries, and minima, on a GPU.

Documents are screened in low precision. Those that can be in the top k are scored in 64-bit arithmetic from their
16-bit vectors, as on the CPU. Which those are follows from the screening errors observed, not from proven bounds.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from chamfer.errors import InputError
from chamfer.kernels.best import Best
from chamfer.kernels.cuda.arrays import DeviceQueries, Packed, power_of_two, rows_and_pieces, to_device
from chamfer.kernels.cuda.documents import NO_MEMORY, DeviceDocuments, Places, are_units, on, vectors_of
from chamfer.kernels.cuda.launch import read_keys, refine_kept, refine_pairs, score_all, score_pairs, top
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.tokens.batch import TokenBatch, offsets_of, parts

# Bytes of scores computed at a time, and the most queries scored at a time.
SCORES, QUERIES = 1 << 29, 4096
# Documents to keep for exact scoring beyond k, by screening precision, and for any other precision.
EXTRA, MOST_EXTRA = {"float16": 6, "bfloat16": 22, "int8": 22}, 54
# A document that was dropped is assumed to score at most SAFETY times the largest observed error above its screened
# score. If that would put it in the top k, MORE times as many documents are kept.
SAFETY, MORE = 2, 4
# The most by which adding an offset in 32 bits, and rounding two exact scores to 32 bits, can swap two documents, in
# units in the last place: half a unit each, which may be of twice the size.
ROUNDING = 3


def best(
    queries: TokenBatch,
    weights: npt.NDArray[np.float32],
    documents: DeviceDocuments,
    candidates: Sequence[Places] | None,
    k: int,
    form: Form,
    offsets: Sequence[npt.NDArray[np.float32]] | None = None,
) -> list[Best]:
    """Find the top k documents for each query, see :func:`chamfer.kernels.dispatch.best`."""
    sizes = np.array([len(documents)] * len(queries) if candidates is None else [len(own) for own in candidates])
    found: list[Best] = []
    with on(documents.device), _memory_errors():
        for some in _batches(queries, documents, sizes, candidates):
            own = weights[queries.offsets[some.start] : queries.offsets[some.stop]]
            given = None if candidates is None else candidates[some]
            lists = _Candidates.of(documents, sizes[some], given, None if offsets is None else offsets[some])
            found += _best(DeviceQueries(queries[some], own, documents.device, form), documents, lists, k)
    return found


def _batches(
    queries: TokenBatch, documents: DeviceDocuments, sizes: npt.NDArray[np.int64], candidates: Sequence[Places] | None
) -> Iterator[slice]:
    """Which queries to score at a time."""
    if documents.screen is None and candidates is not None and any(own is not candidates[0] for own in candidates):
        # Queries with different candidates cannot share a screening pass if documents must be copied first.
        yield from (slice(n, n + 1) for n in range(len(queries)))
        return
    _, pieces = rows_and_pieces(int(queries.lengths.max()), queries.dimensions)
    most = SCORES // 4 // pieces
    yield from parts(offsets_of(np.maximum(sizes, most // QUERIES)), most)


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Turn an out-of-memory error into one that says what to do."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise InputError(NO_MEMORY) from error


def minima(
    query: TokenBatch, documents: DeviceDocuments, candidates: Places | None = None, form: Form = DEFAULT_FORM
) -> npt.NDArray[np.float32]:
    """Compute :func:`chamfer.kernels.reference.minima` for the chosen documents, in their order, in 64 bits."""
    tokens = len(query.vectors)
    closest = np.empty((len(documents) if candidates is None else len(candidates), tokens), np.float32)
    with on(documents.device), _memory_errors():
        queries = DeviceQueries(query, np.ones(tokens, np.float32), documents.device, form)
        for some, vectors, offsets, places in vectors_of(documents, candidates):
            distances = torch.empty((len(places), queries.padded_length), dtype=torch.float32, device=documents.device)
            first = torch.zeros_like(places)
            refine_pairs(queries, vectors, offsets, query_of=first, document_of=places, distances=distances)
            closest[some] = distances[:, :tokens].cpu().numpy()
    return closest


class _Candidates(NamedTuple):
    """The candidates of each query.

    Args:
        sizes: ``(queries,)`` number of candidates.
        given: the lists of candidates, or None for all documents.
        offsets: what is added to the scores of the candidates, concatenated by query.
        starts: ``(queries + 1,)`` where the scores of each query start.
        begins: ``(queries,)`` where the list of each query starts in ``joined``.
        joined: the lists on the GPU, concatenated, or the one list that all queries share.
        query_of: the query of each candidate in ``joined``, if lists are not shared.
    """

    sizes: npt.NDArray[np.int64]
    given: Sequence[Places] | None
    offsets: npt.NDArray[np.float32] | None
    starts: torch.Tensor
    begins: torch.Tensor
    joined: torch.Tensor | None = None
    query_of: torch.Tensor | None = None

    @classmethod
    def of(
        cls,
        documents: DeviceDocuments,
        sizes: npt.NDArray[np.int64],
        given: Sequence[Places] | None,
        offsets: Sequence[npt.NDArray[np.float32]] | None,
    ) -> Self:
        """Copy lists to the GPU."""
        starts = offsets_of(sizes)
        added = None if offsets is None else np.concatenate(offsets)
        if given is None:
            [at] = to_device([starts], documents.device)
            return cls(sizes, None, added, at, at[:-1])
        if len(given) > 1 and all(own is given[0] for own in given):
            at, begins, joined = to_device([starts, np.zeros(len(sizes), np.int64), given[0]], documents.device)
            return cls(sizes, given, added, at, begins, joined)
        query_of = np.repeat(np.arange(len(given)), sizes)
        at, joined, numbers = to_device([starts, np.concatenate(given), query_of], documents.device)
        return cls(sizes, given, added, at, at[:-1], joined, numbers)

    def added_to(self, scores: npt.NDArray[np.float64], order: Places) -> npt.NDArray[np.float64]:
        """``(queries, kept)`` scores of the candidates at these places, with their offsets; -1 is no candidate."""
        if self.offsets is None:
            return scores
        at = np.where(order < 0, 0, order + offsets_of(self.sizes)[:-1, None])
        return np.where(order < 0, scores, scores + self.offsets[at])


def _best(queries: DeviceQueries, documents: DeviceDocuments, lists: _Candidates, k: int) -> list[Best]:
    longest = int(lists.sizes.max(initial=0))
    k = min(k, longest)
    if k == 0:
        return [Best(np.empty(0, np.int64), np.empty(0, np.float32), 0, 0.0)] * queries.count
    scores = _screened(queries, documents, lists)
    extra = EXTRA.get("float16" if documents.screen is None else documents.screen.precision, MOST_EXTRA)
    keep = power_of_two(k + extra)
    while True:
        kept = _refined(queries, documents, lists, top(scores, lists.starts, longest, keep))
        if (kept.is_certain(k) | (lists.sizes <= keep)).all():
            return kept.first(k, lists)
        keep *= MORE


def _screened(queries: DeviceQueries, documents: DeviceDocuments, lists: _Candidates) -> torch.Tensor:
    """Screening scores of all candidates, concatenated by query."""
    scores = torch.empty(int(lists.sizes.sum()), dtype=torch.float32, device=documents.device)
    screen, at = documents.screen, documents.device_offsets
    if screen is None:
        rows = scores.view(queries.count, -1)
        for some, vectors, offsets, places in vectors_of(documents, None if lists.given is None else lists.given[0]):
            packed = Packed.of(vectors, "float16", unit=are_units(vectors))
            score_all(queries, packed, offsets, rows[:, some], listed=places)
    elif lists.query_of is not None and lists.joined is not None:
        score_pairs(queries, screen, at, scores, query_of=lists.query_of, document_of=lists.joined)
    else:
        score_all(queries, screen, at, scores.view(queries.count, -1), listed=lists.joined)
    if lists.offsets is not None:
        scores += to_device([lists.offsets], documents.device)[0]
    return scores


class _Kept(NamedTuple):
    """The documents kept for each query, one row per query: places in its list, screening scores and exact scores.

    If there are fewer documents, the last places are -1.
    """

    order: Places
    screened: npt.NDArray[np.float32]
    exact: npt.NDArray[np.float64]

    def first(self, k: int, lists: _Candidates) -> list[Best]:
        """The top k of each query; ties broken by place."""
        none = np.iinfo(np.int64).max
        by_place = np.argsort(np.where(self.order < 0, none, self.order), axis=1)
        order = np.take_along_axis(self.order, by_place, axis=1)
        scores = np.take_along_axis(self.exact.astype(np.float32), by_place, axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        order, scores = np.take_along_axis(order, best, axis=1), np.take_along_axis(scores, best, axis=1)
        read = np.minimum(lists.sizes, self.order.shape[1]).tolist()
        found = [Best(one[:size], own[:size], size, 0.0) for one, own, size in zip(order, scores, read, strict=True)]
        if lists.given is None:
            return found
        return [replace(one, places=own[one.places]) for one, own in zip(found, lists.given, strict=True)]

    def is_certain(self, k: int) -> npt.NDArray[np.bool_]:
        """``(queries,)`` whether no dropped document can be in the top k."""
        last = self.screened[:, -1].astype(np.float64)
        with np.errstate(invalid="ignore"):
            lost = np.nan_to_num(np.abs(self.exact - self.screened), posinf=0.0).max(axis=1)
            # Where offsets dwarf the scores, the errors observed may all happen to be smaller than rounding can be.
            rounding = ROUNDING * np.spacing(np.abs(self.screened[:, -1])).astype(np.float64)
        worst = np.partition(self.exact, -k, axis=1)[:, -k]
        # If the last document kept has no tokens, none of the dropped ones has any.
        return np.asarray(np.isneginf(last) | (last + SAFETY * lost + rounding < worst))


def _refined(queries: DeviceQueries, documents: DeviceDocuments, lists: _Candidates, keys: torch.Tensor) -> _Kept:
    """Score the kept documents of each query exactly."""
    if documents.exact is None:
        order, screened = read_keys(keys.cpu().numpy())
        return _Kept(order, screened, lists.added_to(_copied_and_scored(queries, documents, lists, order), order))
    at = documents.device_offsets
    exact = refine_kept(queries, documents.exact, at, keys, document_of=lists.joined, begins=lists.begins)
    both = torch.stack([keys, exact.view(torch.int64)]).cpu().numpy()  # one copy instead of two
    order, screened = read_keys(both[0])
    return _Kept(order, screened, lists.added_to(both[1].view(np.float64), order))


def _copied_and_scored(
    queries: DeviceQueries, documents: DeviceDocuments, lists: _Candidates, order: Places
) -> npt.NDArray[np.float64]:
    """Exact scores of documents whose 16-bit vectors must be copied to the GPU first; -inf for place -1."""
    scores = np.full(order.shape, -np.inf)
    query, place = np.nonzero(order >= 0)
    chosen = order[query, place]
    if lists.given is not None:
        chosen = np.concatenate([given[own[own >= 0]] for given, own in zip(lists.given, order, strict=True)])
    [query_of] = to_device([query], documents.device)
    for some, vectors, offsets, places in vectors_of(documents, chosen):
        found = refine_pairs(queries, vectors, offsets, query_of=query_of[some], document_of=places)
        scores[query[some], place[some]] = found.cpu().numpy()
    return scores
