"""Four GPU workloads, run by chamfer and its peers on the same documents."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import triton

from chamfer.kernels import dispatch
from chamfer.kernels.cuda import launch
from chamfer.kernels.cuda.arrays import DeviceQueries, Packed, Precision
from chamfer.kernels.cuda.documents import DeviceDocuments
from chamfer.tokens.batch import TokenBatch

DOCUMENTS, DIMENSIONS, QUERY = 80_000, 128, 32
SHORTEST, LONGEST = 60, 300
K = 10
DEVICE = torch.device("cuda")


@dataclass(frozen=True)
class Corpus:
    """Random documents on the GPU, in float16 and int8."""

    offsets: torch.Tensor
    held: DeviceDocuments

    @classmethod
    def drawn(cls, documents: int = DOCUMENTS) -> "Corpus":
        """Normalised Gaussian vectors."""
        lengths = torch.randint(SHORTEST, LONGEST + 1, (documents,), device=DEVICE)
        offsets = torch.zeros(documents + 1, dtype=torch.int64, device=DEVICE)
        offsets[1:] = lengths.cumsum(0)
        vectors = units(int(offsets[-1])).half()
        kinds: tuple[Precision, ...] = ("int8", "float16")
        kept = {kind: Packed.of(vectors, kind, unit=True) for kind in kinds}
        held = DeviceDocuments(DEVICE, offsets.cpu().numpy(), DIMENSIONS, _nothing, offsets, kept)
        return cls(offsets, held)

    @property
    def vectors(self) -> torch.Tensor:
        """The vectors in float16."""
        return self.held.copies["float16"].vectors

    @property
    def lengths(self) -> torch.Tensor:
        """Offsets of the documents."""
        return self.offsets.diff()


def _nothing(places: Any) -> TokenBatch:  # noqa: ANN401 -- it is never called
    raise AssertionError("everything is on the GPU")


def units(count: int) -> torch.Tensor:
    """Random unit vectors."""
    made = torch.empty(count, DIMENSIONS, dtype=torch.float16, device=DEVICE)
    for start in range(0, count, 1 << 22):
        some = torch.randn(min(1 << 22, count - start), DIMENSIONS, device=DEVICE)
        made[start : start + len(some)] = torch.nn.functional.normalize(some, dim=1)
    return made


class Work(NamedTuple):
    """Queries, and the candidates of each, or all documents."""

    name: str
    queries: TokenBatch
    weights: np.ndarray[Any, np.dtype[np.float32]]
    candidates: torch.Tensor | None
    """``(queries, candidates)``"""

    @property
    def lists(self) -> list[np.ndarray[Any, np.dtype[np.int64]]] | None:
        """In the format of :func:`chamfer.kernels.dispatch.best`."""
        return None if self.candidates is None else list(self.candidates.cpu().numpy())


def works(corpus: Corpus) -> Iterator[Work]:
    """One query and many queries, over candidates and over all documents."""
    count = len(corpus.held)
    for queries, candidates in ((1, 1000), (128, 1000), (1, None), (16, None)):
        vectors = units(queries * QUERY).float().cpu().numpy()
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        batch = TokenBatch(vectors, np.zeros(len(vectors), np.int32), np.arange(queries + 1) * QUERY)
        weights = np.random.default_rng().uniform(0.5, 1.5, len(vectors)).astype(np.float32)
        lists = None
        if candidates is not None:
            lists = torch.stack([torch.randperm(count, device=DEVICE)[:candidates] for _ in range(queries)])
        yield Work(f"{queries} x {candidates or count:,}", batch, weights, lists)


def in_order(scores: np.ndarray[Any, np.dtype[np.float64]], k: int) -> tuple[np.ndarray[Any, np.dtype[np.int64]], bool]:
    """The top k by float32 scores, ties broken by place; and whether float64 agrees."""
    best = np.argsort(-scores.astype(np.float32), kind="stable")[:k]
    return best, np.array_equal(best, np.argsort(-scores, kind="stable")[:k])


def microseconds(function: Callable[[], object]) -> float:
    """Median GPU time of a call, with a cold cache."""
    function()
    return float(triton.testing.do_bench(function, warmup=200, rep=300, return_mode="median")) * 1e3


class Ours:
    """chamfer's kernels, launched as `dispatch.best` launches them, with their outputs allocated beforehand."""

    def __init__(self, corpus: Corpus, work: Work) -> None:
        self.corpus, self.work = corpus, work
        self.asked = DeviceQueries(work.queries, work.weights, DEVICE)
        queries = len(work.queries)
        items = len(corpus.held) if work.candidates is None else work.candidates.shape[1]
        self.scores = torch.empty((queries, items), device=DEVICE)
        self.starts = torch.arange(queries + 1, device=DEVICE) * items
        self.joined = None if work.candidates is None else work.candidates.flatten()
        self.query_of = torch.arange(queries, device=DEVICE).repeat_interleave(items)

    def score(self, packed: Packed) -> torch.Tensor:
        """Score all candidates."""
        if self.joined is None:
            launch.score_all(self.asked, packed, self.corpus.offsets, self.scores)
        else:
            flat = self.scores.view(-1)
            launch.score_pairs(
                self.asked, packed, self.corpus.offsets, flat, query_of=self.query_of, document_of=self.joined
            )
        return self.scores

    def best(self, packed: Packed) -> torch.Tensor:
        """The exact top k: score, select, and rescore the selected in float64."""
        self.score(packed)
        keys = launch.top(self.scores.view(-1), self.starts, self.scores.shape[1], 32)
        return launch.refine_kept(
            self.asked,
            self.corpus.vectors,
            self.corpus.offsets,
            keys,
            document_of=self.joined,
            begins=self.starts[:-1],
        )

    def times(self) -> dict[str, float]:
        """Time of each in microseconds, and of a whole call including copies."""
        held, work = self.corpus.held.copies, self.work
        return {
            "scores, float16": microseconds(lambda: self.score(held["float16"])),
            "scores, int8": microseconds(lambda: self.score(held["int8"])),
            "best 10, float16": microseconds(lambda: self.best(held["float16"])),
            "best 10, int8": microseconds(lambda: self.best(held["int8"])),
            "kernels.best": microseconds(
                lambda: dispatch.best(work.queries, work.weights, self.corpus.held, k=K, candidates=work.lists)
            ),
        }


def peers(corpus: Corpus, work: Work) -> dict[str, dict[str, Callable[[], torch.Tensor]]]:
    """Functions of each peer for a workload, with inputs converted beforehand."""
    import flash_maxsim as flash
    from late_interaction_kernels.score_pairs import score_pairs_packed
    from late_interaction_kernels.varlen import maxsim_varlen

    queries = torch.from_numpy(work.queries.vectors).to(DEVICE).half()
    each = queries.view(len(work.queries), QUERY, DIMENSIONS)
    query_ends = torch.from_numpy(work.queries.offsets).to(DEVICE).int()
    ends, lengths, starts = corpus.offsets.int(), corpus.lengths.int(), corpus.offsets[:-1].int()
    longest = {"max_seqlen_q": QUERY, "max_seqlen_d": LONGEST}
    if work.candidates is None:
        return {
            "late-interaction-kernels": {
                "maxsim_varlen": lambda: maxsim_varlen(queries, corpus.vectors, query_ends, ends, **longest)
            },
            "flash-maxsim": {
                "flash_maxsim_packed": lambda: torch.stack(
                    [flash.flash_maxsim_packed(one, corpus.vectors, ends, LONGEST) for one in each]
                ),
                "flash_maxsim_rerank": lambda: torch.stack(
                    [flash.flash_maxsim_rerank(one, corpus.vectors, ends, LONGEST) for one in each]
                ),
            },
        }
    chosen = work.candidates
    query_of = torch.arange(len(each), device=DEVICE, dtype=torch.int32).repeat_interleave(chosen.shape[1])
    flat = chosen.flatten().int()
    where = [(starts[own].contiguous(), lengths[own].contiguous()) for own in chosen]
    return {
        "late-interaction-kernels": {
            "score_pairs_packed": lambda: score_pairs_packed(
                queries, corpus.vectors, query_ends, ends, query_of, flat, **longest
            )
        },
        "flash-maxsim": {
            "flash_maxsim_rerank_direct": lambda: torch.stack(
                [
                    flash.flash_maxsim_rerank_direct(one, corpus.vectors, *own, LONGEST)
                    for one, own in zip(each, where, strict=True)
                ]
            )
        },
    }


def exact(corpus: Corpus, work: Work) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Float64 scores of each query's candidates: weighted l2, and plain MaxSim as the peers compute it."""
    for n in range(len(work.queries)):
        own = slice(n * QUERY, (n + 1) * QUERY)
        query = torch.from_numpy(work.queries.vectors[own]).to(DEVICE).double()
        rounded = query.half().double()  # the precision that the peers use
        weights = torch.from_numpy(work.weights[own]).to(DEVICE).double()
        places = torch.arange(len(corpus.held), device=DEVICE) if work.candidates is None else work.candidates[n]
        ours, theirs = [], []
        for some in torch.split(places, 4000):
            lengths = corpus.lengths[some]
            shift = torch.repeat_interleave(corpus.offsets[some] - (lengths.cumsum(0) - lengths), lengths)
            vectors = corpus.vectors[torch.arange(len(shift), device=DEVICE) + shift].double()
            squares = vectors.square().sum(1)[:, None] + query.square().sum(1)[None] - 2 * vectors @ query.T
            closest = torch.segment_reduce(squares, "min", lengths=lengths, axis=0).clamp(min=0).sqrt()
            ours.append(-(closest @ weights) / QUERY)
            theirs.append(torch.segment_reduce(vectors @ rounded.T, "max", lengths=lengths, axis=0).sum(1))
        yield torch.cat(ours), torch.cat(theirs)
