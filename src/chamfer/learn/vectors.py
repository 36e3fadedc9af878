"""The vectors of candidates: an adapter moves query vectors, so their distances are computed again."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from chamfer.cache.corpus import EncodedCorpus
from chamfer.errors import InputError
from chamfer.index.snapshot import Snapshot
from chamfer.kernels import dispatch
from chamfer.kernels.cosines import cosines
from chamfer.kernels.form import Form
from chamfer.retrieve.evidence import Evidence
from chamfer.support.sampling import draw
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.means import mean_vectors

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

# Documents whose tokens give the directions that an adapter can move queries in.
SAMPLE = 500


class CandidateVectors(Protocol):
    """Where the vectors of candidates are; shared by all judged queries."""

    @property
    def form(self) -> Form:
        """Form of the score."""

    @property
    def device(self) -> str:
        """Device to compute on."""

    def minima(self, query: TokenBatch, places: Places) -> Floats:
        """``(places, query tokens)`` distances of an adapted query."""

    def pooled(self, query: TokenBatch, places: Places) -> Floats:
        """``(places,)`` cosines of mean vectors for an adapted query."""

    def tokens(self, places: Places) -> TokenBatch:
        """Token vectors of documents, in the dimensions of the encoder."""

    def means(self, places: Places) -> Floats:
        """``(places, dimensions)`` mean vectors of documents, as they are compared."""

    @property
    def projection(self) -> Floats | None:
        """``(dimensions of the encoder, dimensions)`` what queries are projected by before they are compared."""

    def directions(self, count: int) -> Floats:
        """``(dimensions, count)`` the principal directions of document tokens, orthonormal."""


def principal(vectors: npt.NDArray[np.floating], count: int) -> Floats:
    """The directions in which some vectors are longest, as columns; their mean is not subtracted."""
    values = vectors.astype(np.float32)
    directions = np.linalg.eigh((values.T @ values).astype(np.float64))[1][:, ::-1]
    return np.ascontiguousarray(directions[:, :count], np.float32)


@dataclass(frozen=True)
class CorpusVectors:
    """The vectors of an encoded corpus; see :class:`CandidateVectors`."""

    corpus: EncodedCorpus
    form: Form

    @property
    def device(self) -> str:
        """See :class:`CandidateVectors`."""
        return self.corpus.device

    def minima(self, query: TokenBatch, places: Places) -> Floats:
        """See :class:`CandidateVectors`."""
        return dispatch.minima(query, self.corpus, candidates=places, form=self.form)

    def pooled(self, query: TokenBatch, places: Places) -> Floats:
        """See :class:`CandidateVectors`."""
        return cosines(self.corpus.means[places], mean_vectors(query)[0])

    def tokens(self, places: Places) -> TokenBatch:
        """See :class:`CandidateVectors`."""
        return self.corpus.take(places)

    def means(self, places: Places) -> Floats:
        """See :class:`CandidateVectors`."""
        return self.corpus.means[places].astype(np.float32)

    @property
    def projection(self) -> None:
        """See :class:`CandidateVectors`."""

    def directions(self, count: int) -> Floats:
        """See :class:`CandidateVectors`."""
        return principal(self.corpus.take(draw(len(self.corpus), SAMPLE)).vectors, count)


@dataclass(frozen=True)
class IndexVectors:
    """The vectors of one commit of an index; see :class:`CandidateVectors`."""

    index: Snapshot
    form: Form

    def __reduce__(self) -> "tuple[Callable[..., IndexVectors], tuple[Any, ...]]":
        """Pickle the folder and the commit, not the vectors; another process opens it again."""
        return _open_again, (str(self.index.folder.absolute()), self.index.manifest.version, self.form)

    @property
    def device(self) -> str:
        """See :class:`CandidateVectors`."""
        return self.index.device

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(self.index)

    def minima(self, query: TokenBatch, places: Places) -> Floats:
        """See :class:`CandidateVectors`."""
        if not len(places):
            return np.zeros((0, len(query.token_ids)), np.float32)
        documents = dispatch.on_device(self._stored(places), self.index.device)
        return dispatch.minima(self.index.trained.projected(query), documents, form=self.form)

    def pooled(self, query: TokenBatch, places: Places) -> Floats:
        """See :class:`CandidateVectors`."""
        return self._evidence.pooled(mean_vectors(self.index.trained.projected(query))[0], places)

    def lexical(self, text: str, places: Places) -> Floats:
        """``(places,)`` BM25's scores of documents."""
        return self._evidence.bm25.scores(text, places)

    def tokens(self, places: Places) -> TokenBatch:
        """See :class:`CandidateVectors`."""
        stored = self._stored(places)
        return TokenBatch(self._lifted(stored.vectors), stored.token_ids, stored.offsets)

    def means(self, places: Places) -> Floats:
        """See :class:`CandidateVectors`."""
        return self._evidence.means(places).astype(np.float32)

    @property
    def projection(self) -> Floats | None:
        """See :class:`CandidateVectors`."""
        return self.index.trained.projection

    def directions(self, count: int) -> Floats:
        """See :class:`CandidateVectors`."""
        return principal(self.tokens(draw(len(self.index), SAMPLE)).vectors, count)

    def _stored(self, places: Places) -> TokenBatch:
        documents = [self.index.tokens(int(place)) for place in places]
        return TokenBatch.pack([one.vectors for one in documents], [one.token_ids for one in documents])

    def _lifted(self, vectors: npt.NDArray[np.floating]) -> Floats:
        """Vectors of a projected index in the encoder's space, where products are those with projected queries."""
        wide: Floats = vectors.astype(np.float32)
        return wide if self.index.trained.projection is None else wide @ self.index.trained.projection.T


def _open_again(folder: str, version: int, form: Form) -> IndexVectors:
    try:
        index = Snapshot.open(folder)
    except InputError as error:
        raise InputError(
            f"this worker cannot open the index in {folder}, whose vectors an adapter is learnt from; put it where "
            "every worker sees it, or learn without an adapter, with the recipe 'mix'"
        ) from error
    if index.manifest.version != version:
        raise InputError(f"the index in {folder} has changed since learning began; learn again")
    return IndexVectors(index, form)
