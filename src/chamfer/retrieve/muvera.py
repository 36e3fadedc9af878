"""MUVERA: one long vector per text; the product of two approximates their Chamfer similarity."""

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.retrieve.nearest import Nearest, VectorIndex
from chamfer.retrieve.stage import Candidates, Queries, Stage
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.means import summed

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

# Change the name whenever the vectors change.
NAME = "muvera-1"

# 2,560 numbers per document. With vectors from MiniLM, few buckets and wide projections use them best. Recall of the
# exhaustive top 10 (uniform weights) in the top 500 is 0.985 on SciFact and 0.936 on NFCorpus; with 3 bits and 16
# dimensions 0.984 and 0.931, with 4 and 8 0.963 (SciFact), with 1 and 64 0.988 and 0.952 at twice the work per token.
REPETITIONS, BITS, PROJECTED, SEED = 20, 2, 32, 0


@dataclass(frozen=True, slots=True, eq=False)
class FixedEncoding:
    """Encodes any number of token vectors as one vector of ``repetitions * 2**bits * projected`` numbers.

    Each repetition splits space by ``bits`` random hyperplanes into buckets and projects vectors with random signs.
    A bucket of a query holds the weighted *sum* of its tokens there, a bucket of a document the *mean*. A query
    token is thus compared with the mean of the document tokens on its side of every plane, which probably include its
    best match:

    ``queries[q] @ documents[d] ~ sum_i w_i * max_j <q_i, d_j>``

    An empty bucket of a document takes the token whose own bucket differs in the fewest planes; ties go to the first.

    Dhulipala et al., "MUVERA: Multi-Vector Retrieval via Fixed Dimensional Encodings", 2024.

    Args:
        planes: ``(dimensions, repetitions * bits)`` the normals of the hyperplanes.
        signs: ``(dimensions, repetitions * projected)`` all ``+-1 / sqrt(projected)``.
        repetitions: number of repetitions to average over.
        bits: number of hyperplanes per repetition.
        projected: number of dimensions after projection.

    >>> encoding = FixedEncoding.random(3, repetitions=50, bits=2, projected=8)
    >>> batch = TokenBatch.pack([np.eye(3)], [[0, 0, 0]])
    >>> encoding.size, encoding.documents(batch).shape
    (1600, (1, 1600))
    """

    planes: Floats
    signs: Floats
    repetitions: int
    bits: int
    projected: int

    @classmethod
    def random(
        cls,
        dimensions: int,
        *,
        repetitions: int = REPETITIONS,
        bits: int = BITS,
        projected: int = PROJECTED,
        seed: int = SEED,
    ) -> Self:
        """Draw planes and signs; the same on every machine for a given seed."""
        if repetitions < 1 or projected < 1 or not 1 <= bits <= 8:
            raise InputError(
                "an encoding needs at least 1 repetition and 1 projected dimension, and from 1 to 8 bits, "
                f"not {repetitions}, {projected} and {bits}"
            )
        generator = np.random.default_rng(seed)
        planes = generator.standard_normal((dimensions, repetitions * bits), np.float32)
        length = np.float32(1 / np.sqrt(projected))
        signs = generator.choice(np.array([-length, length]), (dimensions, repetitions * projected))
        return cls(planes, signs, repetitions, bits, projected)

    @property
    def size(self) -> int:
        """Length of an encoding."""
        return self.repetitions * (1 << self.bits) * self.projected

    @property
    def digest(self) -> str:
        """Equal for the same planes and signs; another version of NumPy may draw others."""
        return hashlib.sha256(self.planes.tobytes() + self.signs.tobytes()).hexdigest()[:8]

    def queries(self, batch: TokenBatch, weights: Floats) -> Floats:
        """``(texts, size)`` the weighted sum of each bucket, divided by the number of repetitions."""
        owners, projections = self._buckets(batch)
        each = np.repeat(weights.astype(np.float32) / np.float32(self.repetitions), self.repetitions)
        return summed(projections, each, owners, self._owners(batch)).reshape(len(batch), self.size)

    def documents(self, batch: TokenBatch) -> Floats:
        """``(texts, size)`` the mean of each bucket; zeros for a text without tokens."""
        owners, projections = self._buckets(batch)
        sums = summed(projections, np.ones(len(owners), np.float32), owners, self._owners(batch))
        counts = np.bincount(owners, minlength=len(sums))
        sums /= np.maximum(counts, 1).astype(np.float32)[:, None]
        empty = np.flatnonzero(counts == 0)
        nearest = self._nearest(owners, len(sums))[empty]
        filled = nearest < len(owners)  # the others belong to texts without tokens
        sums[empty[filled]] = projections[nearest[filled]]
        return sums.reshape(len(batch), self.size)

    def _buckets(self, batch: TokenBatch) -> tuple[Integers, Floats]:
        """For each token and repetition: the bucket, numbered across all texts, and the projection."""
        vectors = batch.vectors.astype(np.float32)
        sides = (vectors @ self.planes > 0).astype(np.float32).reshape(-1, self.bits)
        # BLAS multiplies floats only; 2**bits is small enough to be exact in them.
        buckets = (
            (sides @ np.exp2(np.arange(self.bits, dtype=np.float32))).astype(np.int64).reshape(-1, self.repetitions)
        )
        texts = np.repeat(np.arange(len(batch)), batch.lengths)
        firsts = (texts[:, None] * self.repetitions + np.arange(self.repetitions)) * 2**self.bits
        return (firsts + buckets).ravel(), (vectors @ self.signs).reshape(-1, self.projected)

    def _owners(self, batch: TokenBatch) -> int:
        """Number of buckets of all texts."""
        return len(batch) * self.repetitions * (1 << self.bits)

    def _nearest(self, owners: Integers, buckets: int) -> Integers:
        """``(buckets of all texts,)`` the first projection in the bucket that differs in the fewest planes."""
        none = len(owners)
        first = np.full(buckets, none)
        first[owners[::-1]] = np.arange(none)[::-1]  # of several assignments, the last one wins
        table = first.reshape(-1, 1 << self.bits)
        places = np.arange(1 << self.bits)
        nearest = table
        for distance in range(1, self.bits + 1):
            flips = [flip for flip in places if int(flip).bit_count() == distance]
            at_distance = np.minimum.reduce([table[:, places ^ flip] for flip in flips])
            nearest = np.where(nearest < none, nearest, at_distance)
        return nearest.ravel()


class Muvera:
    """Finds documents by their fixed-dimensional encodings, in a vector index.

    Token weights scale the query tokens in the encoding of the query. Scores estimate
    ``sum_i w_i * max_j <q_i, d_j>``. A document without tokens is never found.

    Args:
        index: the index to search.
        repetitions: number of repetitions, see :class:`FixedEncoding`.
        bits: number of hyperplanes per repetition.
        projected: number of dimensions after projection.
        seed: random seed.
    """

    def __init__(
        self,
        index: VectorIndex,
        *,
        repetitions: int = REPETITIONS,
        bits: int = BITS,
        projected: int = PROJECTED,
        seed: int = SEED,
    ) -> None:
        self._encoding = FixedEncoding.random(
            index.dimensions, repetitions=repetitions, bits=bits, projected=projected, seed=seed
        )
        name = f"{NAME}-{repetitions}-{bits}-{projected}-{seed}-{self._encoding.digest}"
        self._nearest = Nearest(index, name, self._encoding.documents, size=self._encoding.size)

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None = None) -> list[Candidates]:
        """Find the documents whose encodings have the largest inner products with that of each query."""
        return self._nearest.find(self._encoding.queries(queries.tokens, queries.weights), depth, allowed)


STAGE = Stage(Muvera)
