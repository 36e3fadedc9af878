"""The paper's measures: the usual ones, and recall capped at k."""

from collections.abc import Sequence

import numpy as np

from chamfer.data.judgements import Judgements
from chamfer.data.ranking import Ranking
from chamfer.evaluate.measures import MEASURES, PerQuery, measure
from chamfer.reproduce.paper import CAPPED


def measure_all(rankings: Sequence[Ranking], judgements: Judgements) -> PerQuery:
    """Compute the usual measures, and recall divided by the smaller of k and the number of relevant documents.

    Args:
        rankings: one per query.
        judgements: grades of documents for each query.
    """
    values = measure(rankings, judgements)
    relevant = np.array([sum(grade > 0 for grade in grades.values()) for grades in judgements.values()])
    capped = {
        name.replace("R@", f"{CAPPED}@"): values[name] * relevant / np.maximum(1, np.minimum(relevant, int(name[2:])))
        for name in MEASURES
        if name.startswith("R@")
    }
    return {**values, **capped}
