"""What a search among documents finds."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best documents for one query.

    Args:
        places: ``(k,)`` where they are among the documents, best first; of equal scores the earlier candidate.
        scores: ``(k,)`` float32; higher is closer.
        read: how many documents' 16-bit vectors were looked at.
        saved: the share of products of two tokens that screening did not compute.
    """

    places: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    read: int
    saved: float
