"""The interface of a first stage: queries in, candidates out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.mix import NOTHING, Mix
from chamfer.weights.scale import Scale

if TYPE_CHECKING:
    from chamfer.index.snapshot import Snapshot
    from chamfer.retrieve.word_counts import WordCounts

DEFAULT_DEPTH = 1000
"""Number of candidates to score exactly, unless the stage declares another."""


class Queries(NamedTuple):
    """Encoded and weighted queries.

    Args:
        texts: the query texts.
        tokens: their token vectors, in the dimensions that the index stores.
        weights: ``(query tokens,)`` float32, none negative.
        form: form of the score, ``l2`` or ``cosine``.
        mix: how much evidence beside the tokens counts; first stages that do not score exactly ignore it.
        read: for each query that is longer than the model reads, the number of characters that were read; None for
            others, and empty if unknown.
        counts: counts of the queries' words in the whole corpus, if the index is a shard of it.
    """

    texts: Sequence[str]
    tokens: TokenBatch
    weights: npt.NDArray[np.float32]
    form: Form = DEFAULT_FORM
    mix: Mix = NOTHING
    read: Sequence[int | None] = ()
    counts: "WordCounts | None" = None

    def portions(self, size: int) -> Iterator[Self]:
        """The queries, up to ``size`` at a time."""
        for start in range(0, len(self.texts), size):
            stop = min(start + size, len(self.texts))
            first, last = self.tokens.offsets[[start, stop]]
            yield self._replace(
                texts=self.texts[start:stop],
                tokens=self.tokens[start:stop],
                weights=self.weights[first:last],
                read=self.read[start:stop],
            )

    def take(self, places: Sequence[int]) -> Self:
        """Some of the queries, in the given order."""
        if len(places) == len(self.texts):
            return self
        return self._replace(
            texts=[self.texts[place] for place in places],
            tokens=self.tokens.take(places),
            weights=np.concatenate([np.empty(0, np.float32), *(self.weights_of(place) for place in places)]),
            read=[self.read[place] for place in places] if self.read else (),
        )

    def weights_of(self, place: int) -> npt.NDArray[np.float32]:
        """The weights of one query."""
        return self.weights[self.tokens.offsets[place] : self.tokens.offsets[place + 1]]

    def scale_of(self, place: int, counts: "WordCounts | None" = None) -> Scale:
        """The scale of the scores of one query.

        Args:
            place: position of the query.
            counts: counts of its words, if the mix is lexical and the queries have none.
        """
        counts = self.counts or counts
        own = counts.own(self.texts[place]) if self.mix.lexical and counts is not None else 0.0
        return Scale(self.weights_of(place), self.mix, self.form, own)


class Candidates(NamedTuple):
    """Documents that a stage found for one query.

    Args:
        places: their places in the index, best first.
        scores: the stage's own scores; higher is closer.
    """

    places: npt.NDArray[np.int64]
    scores: npt.NDArray[np.floating]

    def first(self, count: int) -> Self:
        """The first ``count`` documents."""
        return self._replace(places=self.places[:count], scores=self.scores[:count])

    def after(self, offset: int) -> Self:
        """All but the first ``offset`` documents."""
        return self._replace(places=self.places[offset:], scores=self.scores[offset:]) if offset else self


class FirstStage(Protocol):
    """Finds candidates for queries."""

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None) -> list[Candidates]:
        """Find up to ``depth`` candidates for each query.

        Args:
            queries: queries with their weights; a stage uses the weights if it can.
            depth: number of candidates to find.
            allowed: ``(places,)`` mask of the documents that may be found; without it, deleted ones may be found too.
        """
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """How to open a first stage by name.

    A file of this room that defines ``STAGE = Stage(...)`` is a first stage, and the file's name is the name that
    users give. Nothing else lists the stages; see :mod:`chamfer.retrieve.stages`.

    Args:
        open: opens the stage on an index.
        depth: number of candidates to score exactly by default.
    """

    open: Callable[["Snapshot"], FirstStage]
    depth: int = DEFAULT_DEPTH
