"""Measures of ranking quality, computed by ir-measures."""

from collections.abc import Iterable

import ir_measures
import numpy as np
import numpy.typing as npt

from chamfer.data.judged_rows import LARGEST_GRADE
from chamfer.data.judgements import Judgements
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError

MAIN = "nDCG@10"
"""The measure by which systems are compared in tables."""
MAIN_MEASURES = (MAIN, "R@10")
"""The measures by which weights are selected."""
MEASURES = (*MAIN_MEASURES, "RR@10", "nDCG@100", "R@100", "RR@100")


def cutoff(name: str) -> int:
    """The rank down to which a measure looks.

    >>> cutoff("nDCG@10")
    10
    """
    return int(name.partition("@")[2])


def meaning(name: str) -> str:
    """What a measure measures, in plain words.

    >>> meaning("R@100")
    'share of the relevant documents that are in the top 100'
    """
    kind, top = name.partition("@")[0], f"the top {cutoff(name)}"
    return {
        "nDCG": f"how high relevant documents are ranked in {top}",
        "R": f"share of the relevant documents that are in {top}",
        "RR": f"1 divided by the rank of the first relevant document in {top}",
    }[kind]


DEPTH = max(map(cutoff, MEASURES))
"""No measure looks further down a ranking."""

PerQuery = dict[str, npt.NDArray[np.float64]]
"""Measure -> ``(queries,)`` values, in the order of the judgements."""


def measure(rankings: Iterable[Ranking], judgements: Judgements) -> PerQuery:
    """Measure the ranking of every judged query; a query without a ranking scores 0.

    Args:
        rankings: one per query.
        judgements: grades of documents for each query.
    """
    if not judgements:
        raise InputError("there are no judged queries to measure; give judgements of at least one")
    largest = max((abs(grade) for own in judgements.values() for grade in own.values()), default=0)
    if largest > LARGEST_GRADE:
        raise InputError(f"a grade must be at most {LARGEST_GRADE:,}, not {largest}")
    # ir-measures sorts by score and breaks ties by its own rule; decreasing integers preserve our order.
    run = {
        ranking.query_id: {document: float(len(ranking) - place) for place, document in enumerate(ranking.document_ids)}
        for ranking in rankings
        if ranking.query_id in judgements
    }
    wanted = [ir_measures.parse_measure(name) for name in MEASURES]
    place = {query: index for index, query in enumerate(judgements)}
    values = {name: np.zeros(len(judgements)) for name in MEASURES}
    # The library behind ir-measures crashes at a query all of whose grades are below 0, which mean what 0 means.
    grades = {query: {document: max(0, grade) for document, grade in own.items()} for query, own in judgements.items()}
    for found in ir_measures.iter_calc(wanted, grades, run):
        values[str(found.measure)][place[found.query_id]] = found.value
    return values
