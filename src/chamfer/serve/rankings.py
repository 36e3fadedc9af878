"""The documents that an index or a shard found, and merging those of several shards."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document


class Ranked(NamedTuple):
    """The top documents for one query, best first."""

    documents: Sequence[Document]
    scores: npt.NDArray[np.float32]


def merge(found: Sequence[Ranked], k: int) -> Ranked:
    """The top ``k`` of what several shards found for one query; ties are broken by id, as they are in one index."""
    every = [pair for one in found for pair in zip(one.documents, one.scores.tolist(), strict=True)]
    every.sort(key=lambda pair: (-pair[1], pair[0].id))
    return Ranked([document for document, _ in every[:k]], np.array([score for _, score in every[:k]], np.float32))
