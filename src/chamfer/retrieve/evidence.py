"""Evidence beside the tokens for documents of an index: BM25's score, and the cosine of mean vectors.

It depends on the query and the document alone. So a document has the same score whichever first stage found it, and
one that BM25 would not have found has a lexical score of 0.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.index.snapshot import Snapshot
from chamfer.kernels.cosines import cosines
from chamfer.retrieve.bm25 import BM25Stage
from chamfer.retrieve.pooled import Means, means_of
from chamfer.retrieve.stage import Queries
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.means import mean_vectors
from chamfer.weights.mix import LEXICAL, POOLED, Mix
from chamfer.weights.mix import Evidence as Name

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Found(NamedTuple):
    """The evidence for some documents, each ``(documents,)``."""

    lexical: Floats
    pooled: Floats

    def values_at(self, n: int) -> dict[Name, float]:
        """The evidence for one of the documents, by name."""
        return {LEXICAL: float(self.lexical[n]), POOLED: float(self.pooled[n])}


def evidence_of(query: Queries, texts: Sequence[str], tokens: Sequence[TokenBatch]) -> list[dict[Name, float]]:
    """The evidence for documents that are at hand instead of in an index; equal to that of their index.

    Args:
        query: one query, with counts of its words if its mix is lexical.
        texts: texts of the documents.
        tokens: their stored tokens, each a batch of one.
    """
    if query.mix.lexical and query.counts is None:
        raise InputError("a mix that counts lexical evidence needs the counts of the query's words")
    lexical = np.zeros(len(texts), np.float32) if query.counts is None else query.counts.scores(query.texts[0], texts)
    mean = mean_vectors(query.tokens)[0]
    pooled = [cosines(mean_vectors(one).astype(np.float16), mean)[0] for one in tokens]
    return [{LEXICAL: float(words), POOLED: float(cosine)} for words, cosine in zip(lexical, pooled, strict=True)]


class Evidence:
    """What is known of the documents of an index beside their tokens; opened when a mix first needs it.

    Args:
        index: snapshot of the index.
    """

    def __init__(self, index: Snapshot) -> None:
        self._index = index

    def open(self, mix: Mix) -> None:
        """Open now what a mix needs: making the files of a large index takes longer than a search may."""
        if mix.lexical:
            _ = self.bm25
        if mix.pooled:
            _ = self._means

    @property
    def opened(self) -> Mix:
        """A mix that needs what is open, for :meth:`open` of a newer commit."""
        return Mix(lexical=float("bm25" in vars(self)), pooled=float("_means" in vars(self)))

    @cached_property
    def bm25(self) -> BM25Stage:
        """BM25's postings and statistics."""
        return BM25Stage(self._index)

    @cached_property
    def _means(self) -> list[Means]:
        return [means_of(segment, self._index.dimensions) for segment in self._index.segments]

    def added(self, queries: Queries, candidates: Sequence[Places] | None = None) -> list[Floats] | None:
        """What the evidence adds to the score of each candidate; None if the mix is empty.

        Args:
            queries: queries in the dimensions that the index stores.
            candidates: places of documents, for each query; all places by default.
        """
        if not queries.mix:
            return None
        found = []
        for n in range(len(queries.tokens)):
            evidence = self.of(queries, n, None if candidates is None else candidates[n])
            found.append(queries.mix.added(queries.weights_of(n), lexical=evidence.lexical, pooled=evidence.pooled))
        return found

    def of(self, queries: Queries, n: int, places: Places | None = None) -> Found:
        """The evidence for one of several queries; a kind that the mix leaves out is 0.

        Args:
            queries: queries in the dimensions that the index stores.
            n: position of the query.
            places: places of documents; all by default.
        """
        nothing = np.zeros(len(self._index) if places is None else len(places), np.float32)
        return Found(
            self.bm25.scores(queries.texts[n], places, queries.counts) if queries.mix.lexical else nothing,
            self.pooled(mean_vectors(queries.tokens[n])[0], places) if queries.mix.pooled else nothing,
        )

    def pooled(self, query: Floats, places: Places | None = None) -> Floats:
        """The cosines of the mean vectors of documents and that of a query.

        Args:
            query: ``(dimensions,)`` mean vector of the query.
            places: places of documents; all by default.
        """
        if places is None:
            return np.concatenate([np.empty(0, np.float32), *(cosines(means, query) for means in self._means)])
        return cosines(self.means(places), query)

    def means(self, places: Places) -> Means:
        """``(places, dimensions)`` mean vectors of documents."""
        found = np.zeros((len(places), self._index.dimensions), np.float16)
        for number, means in enumerate(self._means):
            start, stop = self._index.starts[number], self._index.starts[number + 1]
            chosen = np.flatnonzero((places >= start) & (places < stop))
            found[chosen] = means[places[chosen] - start]
        return found
