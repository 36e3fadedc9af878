"""Measures of ranking quality, computed by ir-measures."""

from collections.abc import Iterable

import ir_measures
import numpy as np
import numpy.typing as npt

from chamfer.data.judgements import Judgements
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError

MAIN = "nDCG@10"
"""The measure by which systems are compared in tables."""
MAIN_MEASURES = (MAIN, "R@10")
"""The measures by which weights are selected."""
MEASURES = (*MAIN_MEASURES, "RR@10", "nDCG@100", "R@100", "RR@100")
DEPTH = max(int(name.partition("@")[2]) for name in MEASURES)
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
    # ir-measures sorts by score and breaks ties by its own rule; decreasing integers preserve our order.
    run = {
        ranking.query_id: {document: float(len(ranking) - place) for place, document in enumerate(ranking.document_ids)}
        for ranking in rankings
        if ranking.query_id in judgements
    }
    wanted = [ir_measures.parse_measure(name) for name in MEASURES]
    place = {query: index for index, query in enumerate(judgements)}
    values = {name: np.zeros(len(judgements)) for name in MEASURES}
    for found in ir_measures.iter_calc(wanted, {q: dict(grades) for q, grades in judgements.items()}, run):
        values[str(found.measure)][place[found.query_id]] = found.value
    return values
