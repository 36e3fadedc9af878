"""Documents in order, best first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.support.notebook import table


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to one query: document ids and scores, best first.

    Equal scores are ordered by document id, so that a run can be repeated to the letter.

    >>> Ranking.of("q1", ["b", "c", "a"], [0.5, 0.9, 0.5]).document_ids
    ('c', 'a', 'b')
    """

    query_id: str
    document_ids: tuple[str, ...]
    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.document_ids) != len(self.scores):
            raise InputError(f"{len(self.document_ids)} documents need as many scores, not {len(self.scores)}")

    def __len__(self) -> int:
        return len(self.document_ids)

    @classmethod
    def of(
        cls,
        query_id: str,
        document_ids: Sequence[str],
        scores: Sequence[float] | npt.NDArray[np.floating],
        k: int | None = None,
    ) -> Self:
        """Sort documents by score and keep the best ``k``."""
        values = np.asarray(scores, dtype=np.float64)
        if len(values) != len(document_ids):
            raise InputError(f"{len(document_ids)} documents need as many scores, not {len(values)}")
        if np.isnan(values).any():
            raise InputError(f"query {query_id!r} got a score that is not a number; its vectors are broken")
        order = sorted(range(len(values)), key=lambda place: (-values[place], document_ids[place]))[:k]
        return cls(query_id, tuple(document_ids[i] for i in order), tuple(float(values[i]) for i in order))

    def _repr_html_(self) -> str:
        rows = zip(range(1, len(self) + 1), self.document_ids, self.scores, strict=True)
        return table(["", "document", "score"], rows, caption=self.query_id)
