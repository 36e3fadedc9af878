"""The best documents for queries, found on a GPU.

Documents are screened in short numbers and those that can be among the best are scored in 64 bits from their 16-bit
vectors, as on a processor: the same documents come out, with the same scores.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from chamfer.kernels.cuda.arrays import Asked, Packed, power_of_two
from chamfer.kernels.cuda.documents import DeviceDocuments, Places, are_units, on, vectors_of
from chamfer.kernels.cuda.launch import read_keys, refine_kept, refine_pairs, score_all, score_pairs, top
from chamfer.kernels.form import Form
from chamfer.tokens import TokenBatch, offsets_of, parts

# Bytes of scores that are computed at a time, for as many queries as that allows.
SCORES = 1 << 30
# What screening keeps to be scored in 64 bits, beside the k that are wanted; 8 bits order documents less well.
BESIDE = {"float16": 6, "bfloat16": 22, "int8": 22, "fp8": 54}
# A document that was not kept may score higher than screening said, by as much as twice the largest error that was
# seen in those kept. Where that would let it in, four times as many are kept.
SAFETY, MORE = 2, 4


class Found(NamedTuple):
    """The best of a query: places in its list of candidates, or documents; scores; how many were scored exactly."""

    order: Places
    scores: npt.NDArray[np.float32]
    read: int


def best(
    queries: TokenBatch,
    weights: npt.NDArray[np.float32],
    documents: DeviceDocuments,
    candidates: Sequence[Places] | None,
    k: int,
    form: Form,
) -> list[Found]:
    """Find the best documents for each query, of all or of its candidates: see :func:`chamfer.kernels.best`."""
    sizes = np.array([len(documents)] * len(queries) if candidates is None else [len(own) for own in candidates])
    # Lists of their own cannot be screened together where documents must be brought first.
    alone = documents.screen is None and candidates is not None and any(own is not candidates[0] for own in candidates)
    found: list[Found] = []
    with on(documents.device):
        for some in parts(offsets_of(sizes), 1 if alone else SCORES // 4):
            own = weights[queries.offsets[some.start] : queries.offsets[some.stop]]
            asked = Asked(queries[some], own, documents.device)
            lists = _Lists.of(documents, sizes[some], None if candidates is None else candidates[some])
            found += _best(asked, documents, lists, k, form)
    return found


def minima(
    query: TokenBatch, documents: DeviceDocuments, candidates: Places | None = None, form: Form = "l2"
) -> npt.NDArray[np.float32]:
    """Compute :func:`chamfer.kernels.reference.minima` for the chosen documents, in their order, in 64 bits."""
    tokens = len(query.vectors)
    closest = np.empty((len(documents) if candidates is None else len(candidates), tokens), np.float32)
    with on(documents.device):
        asked = Asked(query, np.ones(tokens, np.float32), documents.device)
        for some, vectors, offsets, places in vectors_of(documents, candidates):
            distances = torch.empty((len(places), asked.filled), dtype=torch.float32, device=documents.device)
            first = torch.zeros_like(places)
            refine_pairs(asked, vectors, offsets, query_of=first, document_of=places, distances=distances, form=form)
            closest[some] = distances[:, :tokens].cpu().numpy()
    return closest


class _Lists(NamedTuple):
    """What each query is compared with.

    Args:
        sizes: ``(queries,)`` how many documents.
        starts: ``(queries + 1,)`` where the scores of each query begin.
        given: the lists, or None for all documents.
        shared: whether all queries have the same.
        joined: the lists on the GPU, one behind the other.
        begins: ``(queries,)`` where that of each query begins.
    """

    sizes: npt.NDArray[np.int64]
    starts: torch.Tensor
    given: Sequence[Places] | None
    shared: bool
    joined: torch.Tensor | None
    begins: torch.Tensor

    @classmethod
    def of(cls, documents: DeviceDocuments, sizes: npt.NDArray[np.int64], given: Sequence[Places] | None) -> Self:
        """Bring lists to the GPU."""
        starts = torch.from_numpy(offsets_of(sizes)).to(documents.device)
        if given is None:
            return cls(sizes, starts, None, True, None, starts[:-1])
        shared = all(own is given[0] for own in given)
        joined = np.array(given[0]) if shared else np.concatenate(given)
        begins = torch.zeros_like(starts[:-1]) if shared else starts[:-1]
        return cls(sizes, starts, given, shared, torch.from_numpy(joined).to(documents.device), begins)


def _best(asked: Asked, documents: DeviceDocuments, lists: _Lists, k: int, form: Form) -> list[Found]:
    longest = int(lists.sizes.max(initial=0))
    k = min(k, longest)
    if k == 0:
        return [Found(np.empty(0, np.int64), np.empty(0, np.float32), 0)] * asked.queries
    scores = _screened(asked, documents, lists, form)
    beside = BESIDE["float16" if documents.screen is None else documents.screen.precision]
    keep = power_of_two(k + beside)
    while True:
        keys = top(scores, lists.starts, longest, keep)
        kept = _settled(asked, documents, lists, keys, form)
        if all(len(one.order) < keep or one.is_sure(k) for one in kept):
            return [one.first(k) for one in kept]
        keep *= MORE


def _screened(asked: Asked, documents: DeviceDocuments, lists: _Lists, form: Form) -> torch.Tensor:
    """Scores of all that each query is compared with, one query behind the other."""
    scores = torch.empty(int(lists.sizes.sum()), dtype=torch.float32, device=documents.device)
    screen = documents.screen
    if screen is None:
        rows = scores.view(asked.queries, -1)
        for some, vectors, offsets, places in vectors_of(documents, None if lists.given is None else lists.given[0]):
            packed = Packed.of(vectors, "float16", unit=are_units(vectors))
            score_all(asked, packed, offsets, rows[:, some], listed=places, form=form)
    elif (lists.shared and asked.queries > 1) or lists.joined is None:
        score_all(
            asked, screen, documents.device_offsets, scores.view(asked.queries, -1), listed=lists.joined, form=form
        )
    else:
        sizes = torch.from_numpy(lists.sizes).to(documents.device)
        query_of = torch.arange(asked.queries, device=documents.device).repeat_interleave(sizes)
        score_pairs(
            asked, screen, documents.device_offsets, scores, query_of=query_of, document_of=lists.joined, form=form
        )
    return scores


class _Kept(NamedTuple):
    """What was kept for a query: places in its list, best first, their scores by screening, and the exact ones."""

    order: Places
    screened: npt.NDArray[np.float32]
    exact: npt.NDArray[np.float64]

    def first(self, k: int) -> Found:
        """The best of them."""
        scores = self.exact.astype(np.float32)
        chosen = np.lexsort((self.order, -scores))[:k]
        return Found(self.order[chosen], scores[chosen], len(scores))

    def is_sure(self, k: int) -> bool:
        """Whether no document that was not kept can be among the best ``k``."""
        if np.isneginf(self.screened[-1]):  # then what was not kept has no tokens either
            return True
        finite = np.isfinite(self.exact)
        lost = float(np.abs(self.exact[finite] - self.screened[finite]).max(initial=0.0))
        return bool(self.screened[-1] + SAFETY * lost < np.partition(self.exact, -k)[-k])


def _settled(asked: Asked, documents: DeviceDocuments, lists: _Lists, keys: torch.Tensor, form: Form) -> list[_Kept]:
    """Score again, exactly, what was kept for each query."""
    vectors = documents.kept.get("float16")
    if vectors is not None:
        exact = refine_kept(
            asked,
            vectors.vectors,
            documents.device_offsets,
            keys,
            document_of=lists.joined,
            begins=lists.begins,
            form=form,
        )
        orders, screened = read_keys(keys)
        scores = exact.cpu().numpy()
    else:
        orders, screened = read_keys(keys)
        scores = np.full(orders.shape, -np.inf)
        query, place = np.nonzero(orders >= 0)
        kept = orders[query, place]
        if lists.given is not None:
            own = [lists.given[number][at] for number, at in zip(query.tolist(), kept, strict=True)]
            kept = np.array(own, np.int64)
        query_of = torch.from_numpy(np.array(query)).to(documents.device)
        for some, part, offsets, places in vectors_of(documents, kept):
            found = refine_pairs(asked, part, offsets, query_of=query_of[some], document_of=places, form=form)
            scores[query[some], place[some]] = found.cpu().numpy()
    return [
        _Kept(order[order >= 0], one[order >= 0], score[order >= 0])
        for order, one, score in zip(orders, screened, scores, strict=True)
    ]
