"""One system of an evaluation, and the settings that all of them share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.evaluate.measures import PerQuery
from chamfer.evaluate.weightings import label_of
from chamfer.kernels.form import Form


@dataclass(frozen=True)
class System:
    """One system: its rankings, their measures, and how its weights were made.

    Args:
        name: name of a weighting, a weights file, a first stage or a run.
        rankings: documents ranked for each query.
        values: each measure for every query.
        made: metadata of the weights; empty for a first stage or a run.
        is_weighting: whether it ranks by token weights; a first stage or a run does not.
    """

    name: str
    rankings: Sequence[Ranking]
    values: PerQuery
    made: Mapping[str, Any]
    is_weighting: bool = True

    @property
    def label(self) -> str:
        """The name in tables: a weights file without its folder and suffix."""
        return label_of(self.name)

    @property
    def measures(self) -> dict[str, float]:
        """The mean of each measure over the queries."""
        return {name: float(values.mean()) for name, values in self.values.items()}

    @cached_property
    def by_query(self) -> Mapping[str, Ranking]:
        """The ranking of each query that has one, by the query's id."""
        return {ranking.query_id: ranking for ranking in self.rankings}

    @property
    def answered(self) -> int:
        """Number of queries with at least one document."""
        return sum(len(ranking) > 0 for ranking in self.rankings)


def settings_json(encoder: Encoder, form: Form, first_stage: str | None, depth: int | None) -> dict[str, Any]:
    """Return the settings of an evaluation, as :class:`Evaluation` records them."""
    return {
        "encoder": encoder.name,
        "query_length": encoder.query_length,
        "document_length": encoder.document_length,
        "form": form,
        "first_stage": first_stage,
        "depth": depth,
    }
