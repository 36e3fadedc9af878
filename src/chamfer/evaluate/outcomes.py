"""What happened to each query: its values with a system and with the baseline."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Happened = Literal["won", "lost", "unchanged"]


class Outcome(NamedTuple):
    """One query, measured with a system and with the baseline."""

    query: str
    """Id of the query."""
    text: str
    """Its text."""
    value: float
    """The measure with the system."""
    baseline: float
    """The measure with the baseline."""

    @property
    def difference(self) -> float:
        """The system's value minus the baseline's."""
        return self.value - self.baseline

    @property
    def happened(self) -> Happened:
        """Whether the system won or lost the query, or nothing changed.

        >>> Outcome("q1", "why do cats sleep", 0.5, 1.0).happened
        'lost'
        """
        return "won" if self.difference > 0 else "lost" if self.difference < 0 else "unchanged"


def outcomes_of(
    texts: Mapping[str, str], system: npt.NDArray[np.float64], baseline: npt.NDArray[np.float64]
) -> list[Outcome]:
    """Return the outcome of each query, largest loss first; equal ones stay in the order of the queries.

    Args:
        texts: query texts by id.
        system: ``(queries,)`` values of the system.
        baseline: ``(queries,)`` values of the baseline.
    """
    found = [
        Outcome(query, text, *values)
        for (query, text), *values in zip(texts.items(), system.tolist(), baseline.tolist(), strict=True)
    ]
    return sorted(found, key=lambda outcome: outcome.difference)
