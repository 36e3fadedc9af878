"""The systems that ``kernel.py`` measures, each used in its fastest way."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chamfer import TokenBatch
from chamfer.kernels import native
from chamfer.kernels.documents import CodedDocuments
from chamfer.kernels.form import Form

K = 10
DOCUMENTS = 1000

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """Queries with candidates among the same documents."""

    name: str
    queries: list[Floats]
    weights: list[Floats]
    documents: TokenBatch
    candidates: list[Places]

    @property
    def operations(self) -> float:
        """Mean number of multiply-adds per query, without pruning."""
        pairs = [
            self.documents.lengths[places].sum() * len(query)
            for query, places in zip(self.queries, self.candidates, strict=True)
        ]
        return float(2 * np.mean(pairs) * self.documents.dimensions)

    def folded(self, n: int) -> Floats:
        """A query with its weights folded in, for systems without weights; correct for the cosine form."""
        return self.queries[n] * self.weights[n][:, None]


# From a workload and a number of threads to a function: number of a query in, places of the top documents out.
System = Callable[[Work, int], Callable[[int], Places]]


def chamfer(form: Form) -> System:
    """Ours: codes are made beforehand, and the exact top k is found from them."""

    def prepare(work: Work, threads: int) -> Callable[[int], Places]:
        handle = CodedDocuments.of(work.documents).handle

        def answer(n: int) -> Places:
            places = work.candidates[n]
            return places[native.best(work.queries[n], work.weights[n], handle, places, K, form, threads)[0]]

        return answer

    return prepare


def numkong(work: Work, threads: int) -> Callable[[int], Places]:
    """One call per document, in float16, its fastest format. It normalises, so weights cannot be folded in."""
    import numkong

    vectors, offsets = work.documents.vectors, work.documents.offsets
    packed = [
        numkong.maxsim_pack(np.ascontiguousarray(vectors[offsets[d] : offsets[d + 1]]), dtype="f16")
        for d in range(len(work.documents))
    ]
    pool = ThreadPoolExecutor(threads)

    def answer(n: int) -> Places:
        query = numkong.maxsim_pack(work.queries[n].astype(np.float16), dtype="f16")
        places = work.candidates[n]
        parts = [places] if threads == 1 else np.array_split(places, threads)

        def distances(part: Places) -> list[float]:
            return [numkong.maxsim_packed(query, packed[d]) for d in part]

        every = map(distances, parts) if threads == 1 else pool.map(distances, parts)
        return places[np.argpartition(np.concatenate(list(every)), K)[:K]]

    return answer


def maxsim_cpu(work: Work, threads: int) -> Callable[[int], Places]:
    """A list of float32 documents of any length; threads are set by the environment."""
    import maxsim_cpu

    del threads
    vectors, offsets = work.documents.vectors.astype(np.float32), work.documents.offsets
    documents = [np.ascontiguousarray(vectors[offsets[d] : offsets[d + 1]]) for d in range(len(work.documents))]

    def answer(n: int) -> Places:
        places = work.candidates[n]
        scores = maxsim_cpu.maxsim_scores_variable(work.folded(n), [documents[d] for d in places])
        return places[np.argpartition(-np.asarray(scores), K)[:K]]

    return answer


def torch_segments(work: Work, threads: int) -> Callable[[int], Places]:
    """One matrix product with all tokens, then a segment maximum per document."""
    import torch

    torch.set_num_threads(threads)
    vectors = torch.from_numpy(work.documents.vectors.astype(np.float32))
    whole = len(work.documents) == DOCUMENTS

    def answer(n: int) -> Places:
        places = work.candidates[n]
        rows = vectors if whole else vectors[torch.from_numpy(work.documents.rows(places))]
        products = rows @ torch.from_numpy(work.folded(n)).T
        lengths = torch.from_numpy(work.documents.lengths[places])
        scores = torch.segment_reduce(products, "max", lengths=lengths, unsafe=True).sum(dim=1)
        best: Places = places[scores.topk(K).indices.numpy()]
        return best

    return answer


def torch_padded(work: Work, threads: int) -> Callable[[int], Places]:
    """Documents padded to the longest, as late-interaction libraries do."""
    import torch

    torch.set_num_threads(threads)
    documents = work.documents
    padded = torch.zeros(len(documents), int(documents.lengths.max()), documents.dimensions)
    mask = torch.zeros(padded.shape[:2])
    for d in range(len(documents)):
        length = int(documents.lengths[d])
        padded[d, :length] = torch.from_numpy(documents[d].vectors.astype(np.float32))
        mask[d, :length] = 1

    def answer(n: int) -> Places:
        places = work.candidates[n]
        chosen = slice(None) if len(documents) == DOCUMENTS else torch.from_numpy(places)
        products = torch.einsum("qh,dth->dqt", torch.from_numpy(work.folded(n)), padded[chosen])
        scores = (products * mask[chosen][:, None, :]).amax(dim=2).sum(dim=1)
        best: Places = places[scores.topk(K).indices.numpy()]
        return best

    return answer


SYSTEMS: dict[str, System] = {
    "chamfer, l2": chamfer("l2"),
    "chamfer, cosine": chamfer("cosine"),
    "numkong": numkong,
    "maxsim-cpu": maxsim_cpu,
    "torch, matmul and segment maximum": torch_segments,
    "torch, padded einsum": torch_padded,
}
