"""The result of a search."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The top k documents for one query.

    Args:
        places: ``(k,)`` places of documents, best first; ties broken by the order of the candidates.
        scores: ``(k,)`` float32; higher is closer.
        read: number of documents whose 16-bit vectors were read.
        saved: share of the token products that screening skipped.
    """

    places: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    read: int
    saved: float
