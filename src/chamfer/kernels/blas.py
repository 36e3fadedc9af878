"""Minima by matrix products, on any machine that runs NumPy."""

import threading

import numpy as np
import numpy.typing as npt

from chamfer.errors import DamagedError, InputError
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.kernels.limits import NOISE
from chamfer.support.threads import map_in_threads
from chamfer.tokens.batch import TokenBatch, Vectors, offsets_of, rows_of

# Document tokens per product. 8,192 x 384 x 4 bytes = 12 MB: large enough for BLAS, and small enough that re-ranking
# from a memory-mapped corpus needs little memory.
BLOCK = 8192


def minima(
    query: Vectors, documents: TokenBatch, candidates: npt.NDArray[np.int64], form: Form = DEFAULT_FORM
) -> npt.NDArray[np.float32]:
    """Compute :func:`chamfer.kernels.reference.minima` for the candidates, in their order.

    One product finds all ``<q_i, d_j>``; with ``||q - d||^2 = |q|^2 + (|d|^2 - 2 <q, d>)`` the square root
    is taken after the minimum, once per query token and document.
    """
    query = query.astype(np.float32)
    starts = documents.offsets[candidates]
    lengths = documents.offsets[candidates + 1] - starts
    if len(starts) and (starts.min() < 0 or lengths.min() < 0 or (starts + lengths).max() > len(documents.vectors)):
        raise InputError("offsets must be in ascending order, up to the number of token vectors")
    closest = np.full((len(candidates), len(query)), np.inf, dtype=np.float32)

    def fill(chosen: npt.NDArray[np.int64]) -> None:
        tokens = _in_32_bits(documents.vectors[rows_of(starts[chosen], lengths[chosen])])
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            distances = tokens @ (-2 * query if form == "l2" else -query).T
            if form == "l2":
                distances += np.einsum("td,td->t", tokens, tokens)[:, None]
        closest[chosen] = np.minimum.reduceat(distances, offsets_of(lengths[chosen])[:-1], axis=0)

    filled = np.flatnonzero(lengths)
    block_of = np.cumsum(lengths[filled]) // BLOCK
    blocks = np.split(filled, np.flatnonzero(np.diff(block_of)) + 1) if len(filled) else []
    map_in_threads(fill, blocks)
    if not np.isfinite(closest[filled]).all():
        raise DamagedError("a document got a score that is not a number; its vectors are damaged")
    if form == "l2":
        squares = np.einsum("td,td->t", query, query)
        closest += squares
        # The difference of nearly equal 32-bit numbers is noise, which the square root would magnify.
        closest[closest < NOISE * squares] = 0
        np.sqrt(closest, out=closest)
    return closest


def _in_32_bits(vectors: Vectors) -> npt.NDArray[np.float32]:
    """Convert vectors to 32 bits, in a buffer of this thread that the next call overwrites.

    Torch converts 20 times as fast as NumPy, and a new array per call would take as long again in page faults.
    """
    if vectors.dtype == np.float32:
        return vectors
    import torch  # here, so that commands that compute no scores start quickly

    needed = vectors.size
    if len(getattr(_thread, "buffer", ())) < needed:
        _thread.buffer = torch.empty(max(needed, BLOCK * vectors.shape[1]), dtype=torch.float32)
    part = _thread.buffer[:needed].view(vectors.shape)
    part.copy_(torch.from_numpy(vectors))
    converted: npt.NDArray[np.float32] = part.numpy()
    return converted


_thread = threading.local()
