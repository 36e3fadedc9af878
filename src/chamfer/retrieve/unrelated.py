"""Pairs of texts that have nothing to do with each other: spans of some documents, and other documents, at random."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.index.snapshot import Snapshot
from chamfer.retrieve.evidence import Evidence
from chamfer.retrieve.exhaustive import best
from chamfer.retrieve.stage import Queries
from chamfer.support.sampling import draw

SPANS, DOCUMENTS = 64, 256
"""Spans that stand for queries, and documents that each of them is paired with."""

SHORTEST, LONGEST = 2, 32
"""Words of a span; short ones are as likely as long ones, on a logarithmic scale."""

# Words that are longer on average are no words: the text is in a script without spaces.
LONG_WORDS = 20

SEED = 0


class Span(NamedTuple):
    """A part of a document that stands for a query, and the id of the document."""

    document: str
    text: str


def spans_of(index: Snapshot, count: int = SPANS) -> list[Span]:
    """Random parts of random documents, the same ones for the same commit.

    Args:
        index: snapshot of the index.
        count: number of documents; documents without text have no span.
    """
    generator = np.random.default_rng(SEED)
    documents = index.documents(_drawn(index, count, generator))
    return [Span(one.id, span_in(one.content, generator)) for one in documents if one.content.strip()]


def kernel_scores(
    index: Snapshot, evidence: Evidence, queries: Queries, documents: Sequence[str], count: int = DOCUMENTS
) -> list[npt.NDArray[np.float32]]:
    """The kernel's scores of random documents for each query, without that of the document that the query is from.

    Args:
        index: snapshot of the index.
        evidence: its evidence.
        queries: queries in the dimensions that the index stores.
        documents: for each query, the id of the document that it is a part of.
        count: number of documents.
    """
    places = _drawn(index, count, np.random.default_rng(SEED + 1))
    every = [places] * len(queries.texts)
    ids = dict(zip(places.tolist(), index.ids(places), strict=True))
    with index.searching():
        found = best(index, queries, len(places), every, evidence.added(queries, every))
    scores = []
    for one, document in zip(found, documents, strict=True):
        other = [ids[place] != document for place in one.places.tolist()]
        scores.append(one.scores[np.isfinite(one.scores) & np.array(other, np.bool_)])
    return scores


def span_in(text: str, generator: np.random.Generator) -> str:
    """Some consecutive words of a text, drawn at random; characters, if its script has no spaces."""
    words, joint = text.split(), " "
    if len(text) > LONG_WORDS * len(words):
        words, joint = list("".join(words)), ""
    length = round(float(np.exp(generator.uniform(np.log(SHORTEST), np.log(LONGEST)))))
    start = int(generator.integers(max(1, len(words) - length + 1)))
    return joint.join(words[start : start + length])


def _drawn(index: Snapshot, count: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    if index.live is None:
        return draw(len(index), count, generator)
    live = np.flatnonzero(index.live)
    return live[draw(len(live), count, generator)]
