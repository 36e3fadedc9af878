"""What a search returns."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document, Passage
from chamfer.kernels import dispatch
from chamfer.kernels.form import Form
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


class Hit(NamedTuple):
    """One document that a search found.

    >>> hit = Hit("a", -0.25, "Paris is the capital of France.", {"year": 2020})
    >>> hit.id, hit.score, hit.metadata["year"]
    ('a', -0.25, 2020)
    """

    id: str
    """Id of the document."""
    score: float
    """Higher is closer; ``-inf`` for a document without tokens."""
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
        query_was_truncated: whether the query was longer than the model reads, so that only its beginning counted.

    >>> hits = Hits([Hit("a", -0.25, "Paris is the capital of France.", {})])
    >>> [hit.id for hit in hits if hit.score > -0.5]
    ['a']
    >>> hits.query_was_truncated
    False
    """

    def __init__(self, hits: Iterable[Hit] = (), *, query_was_truncated: bool = False) -> None:
        super().__init__(hits)
        self.query_was_truncated = query_was_truncated

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


def json_score(score: float) -> float | None:
    """A score for JSON, which has no infinity: None for a document without tokens.

    >>> json_score(-0.25), json_score(float("-inf"))
    (-0.25, None)
    """
    return score if math.isfinite(score) else None


def make_hits(
    documents: Sequence[Document],
    scores: npt.NDArray[np.floating],
    weights: npt.NDArray[np.float32],
    *,
    form: Form,
    normalise: bool = False,
    query_was_truncated: bool = False,
) -> Hits:
    """Pair documents with their scores.

    Args:
        documents: best first.
        scores: ``(documents,)``.
        weights: ``(query tokens,)`` weights of the query.
        form: ``l2`` or ``cosine``.
        normalise: whether to divide scores by the total weight; a score is then the distance per weight plus the
            evidence of the mix.
        query_was_truncated: whether the query was longer than the model reads.
    """
    scores = scores.astype(np.float64)
    if normalise:
        scores = dispatch.normalised(scores, weights, form)
    hits = (
        Hit(document.id, float(score), document.text, dict(document.metadata), document.title, document.passage)
        for document, score in zip(documents, scores, strict=True)
    )
    return Hits(hits, query_was_truncated=query_was_truncated)
