"""Judged queries that were moved away from their documents, all in the same way: what an adapter can put right."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import expm

from chamfer.index.projection import projected
from chamfer.kernels import dispatch
from chamfer.kernels.cosines import cosines
from chamfer.kernels.form import Form
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.vectors import principal
from chamfer.tokens.batch import TokenBatch, offsets_of
from chamfer.tokens.means import mean_vectors
from tests.problems import SIZE
from tests.vectors import unit

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

DIMENSIONS = 16
DOCUMENTS = 200
# The angles by which planes of the space are turned: some queries still find their document.
ANGLE = 1.0


@dataclass(frozen=True)
class Documents:
    """Documents in memory, as :class:`chamfer.learn.vectors.CandidateVectors` wants them."""

    batch: TokenBatch
    form: Form = "l2"
    device: str = "cpu"
    projection: Floats | None = None

    def minima(self, query: TokenBatch, places: Places) -> Floats:
        return dispatch.minima(self.projected(query), self.batch, candidates=places, form=self.form)

    def pooled(self, query: TokenBatch, places: Places) -> Floats:
        return cosines(self.means(places), mean_vectors(self.projected(query))[0])

    def tokens(self, places: Places) -> TokenBatch:
        batch = self.batch.take(places)
        if self.projection is None:
            return batch
        return TokenBatch(batch.vectors.astype(np.float32) @ self.projection.T, batch.token_ids, batch.offsets)

    def means(self, places: Places) -> Floats:
        return mean_vectors(self.batch.take(places))

    def directions(self, count: int) -> Floats:
        return principal(self.tokens(np.arange(len(self.batch))).vectors, count)

    def projected(self, query: TokenBatch) -> TokenBatch:
        """A query in the dimensions of the stored vectors."""
        if self.projection is None:
            return query
        return TokenBatch(projected(query.vectors, self.projection), query.token_ids, query.offsets)


def documents(seed: int = 0, *, form: Form = "l2", shortest: int = 3) -> Documents:
    """Random documents of 3 to 9 tokens."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(shortest, 10, DOCUMENTS)
    vectors = unit(generator, int(lengths.sum()), DIMENSIONS).astype(np.float16)
    ids = generator.integers(0, SIZE, len(vectors)).astype(np.int32)
    return Documents(TokenBatch(vectors, ids, offsets_of(lengths)), form)


def half_of(corpus: Documents, seed: int = 0) -> Documents:
    """The documents projected to half of their dimensions, as an index stores them."""
    generator = np.random.default_rng(seed)
    basis = np.linalg.qr(generator.normal(size=(DIMENSIONS, DIMENSIONS)))[0][:, : DIMENSIONS // 2].astype(np.float32)
    batch = corpus.batch
    stored = projected(batch.vectors.astype(np.float32), basis).astype(np.float16)
    return replace(corpus, batch=TokenBatch(stored, batch.token_ids, batch.offsets), projection=basis)


def rotation() -> npt.NDArray[np.float64]:
    """``(DIMENSIONS, DIMENSIONS)`` turns every plane of two neighbouring axes by the same angle."""
    turn = np.kron(np.eye(DIMENSIONS // 2), np.array([[0, -ANGLE], [ANGLE, 0]]))
    return np.asarray(expm(turn))


def rotated_problem(
    corpus: Documents, seed: int, *, queries: int = 60, tokens: int = 3, candidates: int = 60
) -> list[JudgedQuery]:
    """Queries made of tokens of their one relevant document, with some noise, and turned by :func:`rotation`."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(queries):
        places = np.sort(generator.choice(DOCUMENTS, candidates, replace=False))
        relevant = int(generator.integers(candidates))
        own = corpus.batch[int(places[relevant])].vectors.astype(np.float64)
        near = own[generator.integers(len(own), size=tokens)] + generator.normal(0, 0.1, (tokens, DIMENSIONS))
        vectors = near @ rotation().T
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        ids = generator.choice(SIZE, tokens, replace=False).astype(np.int32)
        lexical = generator.gamma(1.0, 3.0, candidates).astype(np.float32)
        lexical[relevant] += 2
        grades = np.zeros(candidates, np.int32)
        grades[relevant] = 1
        found.append(judged(f"r{seed}-{number}", ids, vectors.astype(np.float32), grades, corpus, places, lexical))
    return found


def judged(
    name: str,
    ids: npt.NDArray[np.int32],
    vectors: Floats,
    grades: npt.NDArray[np.int32],
    corpus: Documents,
    places: Places,
    lexical: Floats,
) -> JudgedQuery:
    """A judged query with everything that can be known of it."""
    query = TokenBatch(vectors, ids, np.array([0, len(ids)], np.int64))
    return JudgedQuery(
        query_id=name,
        token_ids=ids,
        vectors=vectors,
        distances=corpus.minima(query, places),
        grades=grades,
        ideal=np.sort(grades[grades > 0])[::-1],
        lexical=lexical,
        pooled=corpus.pooled(query, places),
        places=places,
        vectors_of=corpus,
    )
