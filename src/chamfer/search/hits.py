"""What a search returns."""

from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document, Passage
from chamfer.errors import InputError
from chamfer.support.notebook import Row, table

DEFAULT_K = 10
"""Number of documents that a search returns by default."""

PASSAGE = "passage"
"""Name of the metadata that says which passage of a document a hit is, unless the document has its own."""

COMPARED = 2
"""Documents that are explained if none are named: the best one, and the one that it beats."""

QUERY_BATCH = 64
"""Queries to search at once, of many."""

# The searches of a request to a server keep others waiting, and its answer is as large as all of theirs.
BATCH_QUERIES, BATCH_HITS = 32, 100
"""Largest number of queries in one request to a server, and of hits for each of them."""

# Characters of a text that are shown in a notebook.
SHOWN_CHARACTERS = 300


Finding = bool | Callable[[], bool | None] | None
"""Whether there is probably nothing; None if unknown; or a function that finds out, which may take long."""


class Hit(NamedTuple):
    """One document that a search found.

    >>> hit = Hit("a", 0.75, "Paris is the capital of France.", {"year": 2020})
    >>> hit.id, hit.score, hit.metadata["year"]
    ('a', 0.75, 2020)
    """

    id: str
    """Id of the document."""
    score: float
    """From 0, which is no match, to 1, a perfect one; see :mod:`chamfer.weights.scale`."""
    text: str
    """Text of the document, without its title; in an index of passages, that of its best passage."""
    metadata: dict[str, Any]
    """Metadata of the document."""
    title: str = ""
    """Title of the document, if there is one."""
    passage: Passage | None = None
    """Which passage of the document ``text`` is, in an index of passages."""

    @property
    def headed(self) -> str:
        """Internal: the title above the text, for readers that see only the text."""
        return "\n\n".join(filter(None, (self.title, self.text)))


class Hits(list[Hit]):
    """The documents that a search found, best first; a list that a notebook shows as a table.

    Args:
        hits: the documents.
        query_read: number of characters of the query that the model read, if it was longer than that; BM25 counts
            the words of all of it. None if the model read it all.
        probably_nothing: see :attr:`probably_nothing`; or a function that finds out.

    >>> hits = Hits([Hit("a", 0.75, "Paris is the capital of France.", {})])
    >>> [hit.id for hit in hits if hit.score > 0.5]
    ['a']
    >>> hits.query_was_truncated
    False
    """

    def __init__(
        self, hits: Iterable[Hit] = (), *, query_read: int | None = None, probably_nothing: Finding = None
    ) -> None:
        super().__init__(hits)
        self.query_read, self._probably_nothing = query_read, probably_nothing

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what is found, not what finds it, which has an index and a model behind it."""
        return {**self.__dict__, "_probably_nothing": self.probably_nothing}

    @property
    def probably_nothing(self) -> bool | None:
        """Whether the index probably has nothing on the query: its best document scores no better than unrelated ones.

        None if unknown: for an index of fewer than 20 documents, on later pages, and in an answer of a server that has
        not estimated yet what unrelated texts score. The first question may take a second or two, see
        :meth:`chamfer.Searcher.unrelated_score`.
        """
        if callable(self._probably_nothing):
            self._probably_nothing = self._probably_nothing()
        return self._probably_nothing

    @property
    def query_was_truncated(self) -> bool:
        """Whether the query was longer than the model reads."""
        return self.query_read is not None

    def _repr_html_(self) -> str:
        titled = any(hit.title for hit in self)
        rows: list[Row] = []
        for rank, hit in enumerate(self, 1):
            text = hit.text if len(hit.text) <= SHOWN_CHARACTERS else f"{hit.text[:SHOWN_CHARACTERS]} …"
            if hit.passage is not None and hit.passage.of > 1:
                text = f"{text} ({hit.passage})"
            rows.append((rank, hit.id, hit.score, *([hit.title] if titled else []), text))
        return table(["", "document", "score", *(["title"] if titled else []), "text"], rows)


def passage_metadata(hit: Hit) -> dict[str, Any]:
    """Metadata to add for other libraries: which passage of its document a hit is.

    Nothing in an index without passages, or if the document has metadata of that name.
    """
    return {} if hit.passage is None or PASSAGE in hit.metadata else {PASSAGE: hit.passage.as_json()}


def checked_score(score: float) -> float:
    """A lowest score, or an error that states the rule.

    >>> checked_score(1)
    1.0
    """
    if isinstance(score, bool) or not isinstance(score, Real) or not 0 <= float(score) <= 1:
        raise InputError(f"min_score must be from 0 to 1, not {score!r}")
    return float(score)


def make_hits(
    documents: Sequence[Document],
    scores: npt.NDArray[np.floating],
    *,
    query_read: int | None = None,
    probably_nothing: Finding = None,
) -> Hits:
    """Pair documents with their scores.

    Args:
        documents: best first.
        scores: ``(documents,)`` from 0 to 1.
        query_read: number of characters of the query that the model read, if it was longer.
        probably_nothing: see :class:`Hits`.
    """
    hits = (
        Hit(document.id, float(score), document.text, dict(document.metadata), document.title, document.passage)
        for document, score in zip(documents, scores, strict=True)
    )
    return Hits(hits, query_read=query_read, probably_nothing=probably_nothing)


def probably_nothing(scores: npt.NDArray[np.floating], level: float | None) -> bool | None:
    """Whether no document scores better than unrelated ones do; None if nobody knows what they score.

    Args:
        scores: ``(documents,)`` from 0 to 1, best first.
        level: what unrelated documents score.

    >>> probably_nothing(np.array([0.4, 0.2]), 0.3), probably_nothing(np.array([0.2]), 0.3)
    (False, True)
    """
    return None if level is None else not len(scores) or bool(scores[0] < level)
