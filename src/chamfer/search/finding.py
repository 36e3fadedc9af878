"""From encoded queries to hits: ranked by the kernel's scores, shown with scores from 0 to 1."""

from collections.abc import Sequence

import numpy as np

from chamfer.errors import DamagedError, InputError
from chamfer.retrieve.ranker import Ranker
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.retrieve.unrelated import kernel_scores, spans_of
from chamfer.search.background import FEWEST, Estimate, keep_level, key_of, level_of, read_level
from chamfer.search.hits import Hits, make_hits, probably_nothing
from chamfer.search.query_encoder import QueryEncoder
from chamfer.weights.token_weights import TokenWeights


def find_hits(
    ranker: Ranker,
    queries: Queries,
    ranked: Sequence[Candidates],
    *,
    offset: int = 0,
    min_score: float = 0.0,
    level: float | None = None,
) -> list[Hits]:
    """The hits of ranked documents, from ``offset`` on.

    Args:
        ranker: what ranked them.
        queries: the queries.
        ranked: the ranked documents of each query.
        offset: number of documents to skip.
        min_score: leave out documents that score less.
        level: what unrelated texts score.
    """
    found = []
    for one, scale, read in zip(ranked, ranker.scales(queries), queries.read, strict=True):
        scores = scale.scores(one.scores)
        shown = Candidates(one.places, scores).first(int(np.count_nonzero(scores >= min_score))).after(offset)
        found.append(
            make_hits(
                ranker.index.documents(shown.places),
                shown.scores,
                query_read=read,
                probably_nothing=probably_nothing(scores, level),
            )
        )
    return found


class Levels:
    """What unrelated texts score in an index, for any weights.

    Args:
        ranker: ranks the documents of the index.
        encoder: encodes queries for it.
    """

    def __init__(self, ranker: Ranker, encoder: QueryEncoder) -> None:
        self._ranker, self._encoder = ranker, encoder
        self._known: dict[str, float | None] = {}  # an index that cannot be written keeps nothing

    def of(self, weights: str | TokenWeights) -> float | None:
        """The score that one in a hundred unrelated pairs reaches; None if there are too few documents.

        Args:
            weights: the weights of the queries.
        """
        index = self._ranker.index
        documents = index.manifest.documents
        if documents < FEWEST:
            return None
        key = key_of(self._encoder.resolve(weights), weights, self._encoder.form, index.manifest)
        if key not in self._known:
            level = read_level(index.folder, key, documents)
            if level is None and (level := self._estimated(weights)) is not None:
                keep_level(index.folder, Estimate(key, documents, level))
            self._known[key] = level
        return self._known[key]

    def _estimated(self, weights: str | TokenWeights) -> float | None:
        ranker, spans = self._ranker, spans_of(self._ranker.index)
        if not spans:
            return None
        queries = self._encoder.encode([span.text for span in spans], weights)
        try:
            found = kernel_scores(ranker.index, ranker.evidence, queries, [span.document for span in spans])
        except DamagedError:
            raise
        except InputError:  # weights that are too large for some of these, though not for the query at hand
            return None
        return level_of(scale.scores(scores) for scale, scores in zip(ranker.scales(queries), found, strict=True))
