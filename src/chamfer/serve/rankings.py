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


def merge(found: Sequence[Ranked], k: int, offset: int = 0) -> Ranked:
    """A page of what several shards found for one query; ties are broken by id, as they are in one index.

    Args:
        found: the top ``offset + k`` of each shard.
        k: number of documents on the page.
        offset: number of documents before it.
    """
    every = [pair for one in found for pair in zip(one.documents, one.scores.tolist(), strict=True)]
    every.sort(key=lambda pair: (-pair[1], pair[0].id))
    page = every[offset : offset + k]
    return Ranked([document for document, _ in page], np.array([score for _, score in page], np.float32))
