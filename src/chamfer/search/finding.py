"""From encoded queries to hits: ranked by the kernel's scores, shown with scores from 0 to 1."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from chamfer.retrieve.ranker import Ranker
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.search.hits import Hits, make_hits, probably_nothing


def find_hits(
    ranker: Ranker,
    queries: Queries,
    ranked: Sequence[Candidates],
    *,
    offset: int = 0,
    min_score: float = 0.0,
    level: Callable[[], float | None] = lambda: None,
) -> list[Hits]:
    """The hits of ranked documents, from ``offset`` on.

    Args:
        ranker: what ranked them.
        queries: the queries.
        ranked: the ranked documents of each query.
        offset: number of documents to skip.
        min_score: leave out documents that score less.
        level: finds out what unrelated texts score, once somebody asks.
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
                probably_nothing=partial(_probably_nothing, scores[:1], level),
            )
        )
    return found


def _probably_nothing(best: npt.NDArray[np.floating], level: Callable[[], float | None]) -> bool | None:
    return probably_nothing(best, level())
