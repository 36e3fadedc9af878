"""Launches the GPU kernels: their arguments, grids and tuning."""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from triton.runtime.errors import OutOfResources

from chamfer.kernels.cuda import kernels
from chamfer.kernels.cuda.arrays import LARGEST, QUERY_NUMBERS, ROWS, DeviceQueries, Packed, Precision, power_of_two

# Number of scores that one instance of `narrow` reads, and the most that it keeps of them.
BLOCK, MOST = 1024, 1024
NOTHING, LAST = kernels.NOTHING.value, kernels.LAST.value


class Plan(NamedTuple):
    """How the score kernel runs.

    Args:
        together: number of queries, or pieces of queries, scored together.
        tile: number of document tokens per step.
        warps: number of warps of an instance.
        stages: number of pipeline stages.
        programs: number of instances per multiprocessor; for pairs there is one instance per pair.
    """

    together: int
    tile: int
    warps: int
    stages: int
    programs: int = 1


# Needs the fewest resources.
SMALL = Plan(1, 32, 4, 1, 4)


def plan(queries: DeviceQueries, precision: Precision, items: int, *, pairs: bool) -> Plan:
    """The fastest plan on an H200 for queries of 32 tokens and 128 dimensions, scaled for others."""
    short = precision in LARGEST
    width = power_of_two(queries.dimensions, 32)
    wider = max(1, queries.rows * width // 4096)  # than 32 x 128
    if pairs:
        chosen = Plan(1, 32, 1, 3) if short and items > 10_000 else Plan(1, 64, 2, 2)
    elif queries.count * queries.pieces == 1:
        chosen = Plan(1, 32, 1, 3, 16 if short else 24)
    else:
        together = min(8, max(1, QUERY_NUMBERS // (queries.rows * width)), power_of_two(queries.count * queries.pieces))
        rows = queries.rows * together
        if together > 1:
            return Plan(together, 64, 4 if short or rows < 256 else 8, 3, 1 if rows >= 128 else 4)
        chosen = Plan(1, 32, 1, 3, 16)
    if wider == 1:
        return chosen
    return Plan(1, 32, min(8, chosen.warps * wider), 2, max(1, chosen.programs // wider))


def score_all(
    queries: DeviceQueries,
    packed: Packed,
    offsets: torch.Tensor,
    scores: torch.Tensor,
    *,
    listed: torch.Tensor | None = None,
    how: Plan | None = None,
) -> None:
    """Compute ``(queries, documents)`` scores of all documents, or of listed ones, the same for every query.

    Args:
        queries: queries to score.
        packed: the vectors of the documents.
        offsets: ``(documents + 1,)`` int64, where the vectors of each document start.
        scores: float32 output; may be some columns of wider rows.
        listed: places of documents.
        how: a plan to use instead of the fastest.
    """
    items = scores.shape[1]
    pieces = queries.count * queries.pieces
    into = scores
    if queries.pieces > 1:
        into = torch.empty((pieces, items), dtype=torch.float32, device=scores.device)
    _score(queries, packed, offsets, into, items, how=how, document_of=listed)
    if queries.pieces > 1:
        torch.sum(into.view(queries.count, queries.pieces, items), 1, out=scores)


def score_pairs(
    queries: DeviceQueries,
    packed: Packed,
    offsets: torch.Tensor,
    scores: torch.Tensor,
    *,
    query_of: torch.Tensor,
    document_of: torch.Tensor,
    how: Plan | None = None,
) -> None:
    """Compute ``(pairs,)`` scores, of one query and one document each; see :func:`score_all`."""
    into, pieces = scores, queries.pieces
    if pieces > 1:
        query_of = (query_of[:, None] * pieces + torch.arange(pieces, device=scores.device)).flatten()
        document_of = document_of.repeat_interleave(pieces)
        into = torch.empty(len(query_of), dtype=torch.float32, device=scores.device)
    _score(queries, packed, offsets, into, len(into), how=how, piece_of=query_of, document_of=document_of)
    if pieces > 1:
        torch.sum(into.view(-1, pieces), 1, out=scores)


def _score(
    queries: DeviceQueries,
    packed: Packed,
    offsets: torch.Tensor,
    scores: torch.Tensor,
    items: int,
    *,
    how: Plan | None,
    piece_of: torch.Tensor | None = None,
    document_of: torch.Tensor | None,
) -> None:
    if items == 0:
        return
    chosen = how or plan(queries, packed.precision, items, pairs=piece_of is not None)
    try:
        _start(queries, packed, offsets, scores, items, chosen, piece_of=piece_of, document_of=document_of)
    except OutOfResources:  # a GPU with less shared memory than the one that plans were tuned on
        _start(queries, packed, offsets, scores, items, SMALL, piece_of=piece_of, document_of=document_of)


def _start(
    queries: DeviceQueries,
    packed: Packed,
    offsets: torch.Tensor,
    scores: torch.Tensor,
    items: int,
    chosen: Plan,
    *,
    piece_of: torch.Tensor | None,
    document_of: torch.Tensor | None,
) -> None:
    pieces = queries.count * queries.pieces
    grid: tuple[int, ...] = (items,)
    if piece_of is None:
        grid = min(items, chosen.programs * _multiprocessors(scores.device)), -(-pieces // chosen.together)
    own = queries.packed(packed.precision)
    scaled = packed.precision in LARGEST
    kernels.score[grid](
        own.vectors,
        queries.squares,
        own.factors,
        queries.weights,
        queries.lengths,
        packed.vectors,
        packed.factors,
        offsets,
        offsets if piece_of is None else piece_of,
        offsets if document_of is None else document_of,
        scores,
        pieces,
        items,
        scores.stride(0),
        P=queries.pieces,
        D=queries.dimensions,
        K=power_of_two(queries.dimensions, 32),
        R=queries.rows,
        G=chosen.together,
        B=chosen.tile,
        L2=queries.form == "l2",
        UNIT=scaled or packed.unit,
        SCALED=scaled,
        PAIRS=piece_of is not None,
        LISTED=document_of is not None,
        num_warps=chosen.warps,
        num_stages=chosen.stages,
    )


def top(scores: torch.Tensor, starts: torch.Tensor, longest: int, keep: int) -> torch.Tensor:
    """``(rows, keep)`` keys of the top scores of each row, best first; ties broken by place.

    Args:
        scores: float32, all rows, concatenated.
        starts: ``(rows + 1,)`` where each row starts.
        longest: length of the longest row.
        keep: number of keys, a power of two.
    """
    rows = len(starts) - 1
    if keep > MOST:
        return _top_by_sorting(scores, starts.tolist(), keep)
    keys, width, first = starts, max(longest, 1), True
    while first or width > keep:
        block = max(4 * keep, min(BLOCK, power_of_two(width)))
        blocks = -(-width // block)
        kept = torch.empty((rows, blocks * keep), dtype=torch.int64, device=scores.device)
        kernels.narrow[(blocks, rows)](
            scores,
            starts,
            keys,
            kept,
            width,
            FIRST=first,
            BLOCK=block,
            KEEP=keep,
            num_warps=min(32, max(1, block // 64)),
        )
        keys, width, first = kept, blocks * keep, False
    return keys


def _top_by_sorting(scores: torch.Tensor, starts: list[int], keep: int) -> torch.Tensor:
    keys = torch.full((len(starts) - 1, keep), NOTHING, dtype=torch.int64, device=scores.device)
    for row, (start, stop) in enumerate(pairwise(starts)):
        values, places = torch.sort(scores[start:stop], descending=True, stable=True)
        bits = values[:keep].view(torch.int32)
        order = torch.where(bits < 0, bits ^ LAST, bits).long()
        keys[row, : len(bits)] = (order << 32) | (LAST - places[:keep])
    return keys


def read_keys(keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The places in keys, -1 for none, and their scores."""
    order = (keys >> 32).astype(np.int32)
    bits = np.where(order < 0, order ^ LAST, order).astype(np.int32)
    return np.where(keys == NOTHING, -1, LAST - (keys & 0xFFFFFFFF)), bits.view(np.float32)


def refine_kept(
    queries: DeviceQueries,
    vectors: torch.Tensor,
    offsets: torch.Tensor,
    keys: torch.Tensor,
    *,
    document_of: torch.Tensor | None,
    begins: torch.Tensor,
) -> torch.Tensor:
    """``(queries, keep)`` float64 scores of the documents that :func:`top` kept; -inf for none.

    Args:
        queries: queries to score.
        vectors: the vectors of all documents.
        offsets: where the vectors of each document start.
        keys: from :func:`top`; their places are documents, or positions in the lists.
        document_of: lists of documents, concatenated.
        begins: ``(queries,)`` where the list of each query starts.
    """
    scores = torch.empty(keys.shape, dtype=torch.float64, device=keys.device)
    _refine(queries, vectors, offsets, scores, keys=keys, begins=begins, document_of=document_of)
    return scores


def refine_pairs(
    queries: DeviceQueries,
    vectors: torch.Tensor,
    offsets: torch.Tensor,
    *,
    query_of: torch.Tensor,
    document_of: torch.Tensor,
    distances: torch.Tensor | None = None,
) -> torch.Tensor:
    """``(pairs,)`` float64 scores of one query and one document each; also fills ``distances``, if given."""
    scores = torch.empty(len(query_of), dtype=torch.float64, device=query_of.device)
    _refine(queries, vectors, offsets, scores, query_of=query_of, document_of=document_of, distances=distances)
    return scores


def _refine(
    queries: DeviceQueries,
    vectors: torch.Tensor,
    offsets: torch.Tensor,
    scores: torch.Tensor,
    *,
    keys: torch.Tensor | None = None,
    begins: torch.Tensor | None = None,
    query_of: torch.Tensor | None = None,
    document_of: torch.Tensor | None = None,
    distances: torch.Tensor | None = None,
) -> None:
    if scores.numel() == 0:
        return
    kernels.refine[(scores.numel(),)](
        queries.vectors,
        queries.weights,
        queries.lengths,
        vectors,
        offsets,
        offsets if keys is None else keys,
        offsets if begins is None else begins,
        offsets if query_of is None else query_of,
        offsets if document_of is None else document_of,
        scores,
        scores if distances is None else distances,
        queries.padded_length,
        D=queries.dimensions,
        S=min(32, queries.rows),
        B=64,
        C=min(128, power_of_two(queries.dimensions, ROWS)),
        HALF=vectors.dtype == torch.float16,
        L2=queries.form == "l2",
        KEEP=1 if keys is None else keys.shape[1],
        KEYED=keys is not None,
        LISTED=document_of is not None,
        DISTANCES=distances is not None,
        num_warps=4,
    )


@cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
