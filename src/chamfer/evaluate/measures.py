"""How good a ranking is, measured by ir-measures."""

from collections.abc import Iterable

import ir_measures
import numpy as np
import numpy.typing as npt

from chamfer.data.judgements import Judgements
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError

MEASURES = ("nDCG@10", "R@10", "RR@10", "nDCG@100", "R@100", "RR@100")

PerQuery = dict[str, npt.NDArray[np.float64]]
"""Measure -> value for every judged query, in the order of the judgements."""


def measure(rankings: Iterable[Ranking], judgements: Judgements) -> PerQuery:
    """Measure every judged query; one without a ranking scores 0.

    A document with the query's own id is passed over, as BEIR does: in ArguAna every query is a document.
    """
    if not judgements:
        raise InputError("there is no judged query to measure")
    # The evaluator sorts by score with a tie rule of its own; falling whole numbers keep our order.
    run = {
        ranking.query_id: {
            document: float(len(ranking) - place)
            for place, document in enumerate(ranking.document_ids)
            if document != ranking.query_id
        }
        for ranking in rankings
        if ranking.query_id in judgements
    }
    wanted = [ir_measures.parse_measure(name) for name in MEASURES]
    place = {query: index for index, query in enumerate(judgements)}
    values = {name: np.zeros(len(judgements)) for name in MEASURES}
    for found in ir_measures.iter_calc(wanted, {q: dict(grades) for q, grades in judgements.items()}, run):
        values[str(found.measure)][place[found.query_id]] = found.value
    return values
