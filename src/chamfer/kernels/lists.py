"""Lists of documents, one for each centroid, and what is found by looking into some of them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.kernels import native
from chamfer.tokens.batch import Offsets, offsets_of

# Documents that are sorted into lists at a time.
AT_A_TIME = 8192


@dataclass(frozen=True, eq=False)
class Lists:
    """Which documents have a token at each centroid.

    Args:
        starts: ``(lists + 1,)`` where in ``places`` each list starts.
        places: the documents of all lists, behind each other, rising in each.
        documents: how many there are.
    """

    starts: npt.NDArray[np.int64]
    places: npt.NDArray[np.uint32]
    documents: int

    @classmethod
    def of(cls, chosen: npt.NDArray[np.integer], offsets: Offsets, count: int) -> Self:
        """Make ``count`` lists from the list that each token of some documents is in.

        Memory is some six bytes a token: documents are sorted into lists part by part, then the parts are joined.

        >>> lists = Lists.of(np.array([1, 0, 1]), np.array([0, 1, 3]), count=2)
        >>> lists.starts.tolist(), lists.places.tolist()
        ([0, 1, 3], [1, 0, 1])
        """
        parts: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]] = []
        documents = len(offsets) - 1
        for first in range(0, documents, AT_A_TIME):
            last = min(first + AT_A_TIME, documents)
            document = np.repeat(np.arange(last - first), np.diff(offsets[first : last + 1]))
            lists = np.asarray(chosen[offsets[first] : offsets[last]], dtype=np.int64)
            pairs = np.unique(lists * (last - first) + document)
            lengths = np.bincount(pairs // (last - first), minlength=count)
            parts.append((lengths, (first + pairs % (last - first)).astype(np.uint32)))
        starts = np.concatenate([[0], np.cumsum(sum((lengths for lengths, _ in parts), np.zeros(count, np.int64)))])
        places, heads = np.empty(starts[-1], np.uint32), starts[:-1].copy()
        for lengths, found in parts:
            places[np.repeat(heads - offsets_of(lengths)[:-1], lengths) + np.arange(len(found))] = found
            heads += lengths
        return cls(starts, places, documents)

    def probe(
        self,
        ends: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        gains: npt.NDArray[np.float32],
        *,
        depth: int,
        allowed: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Find the documents that gain most from being in lists.

        Args:
            ends: ``(query tokens,)`` where in ``chosen`` the lists of each token end.
            chosen: the lists that tokens look into, closest first; a document gains for each token by the first of
                these that it is in.
            gains: what each list offers.
            depth: how many documents to find.
            allowed: ``(documents,)`` which may be found; all if not given.

        Returns:
            Their places and what they gained, largest first, of equal ones the earlier.
        """
        if native.path():
            return native.probe(
                self.starts,
                self.places,
                self.documents,
                ends=ends,
                lists=chosen,
                gains=gains,
                allowed=allowed,
                depth=depth,
            )
        gained, found = np.zeros(self.documents, np.float32), np.zeros(self.documents, bool)
        for first, last in zip([0, *ends], ends, strict=False):
            parts = [self.places[self.starts[one] : self.starts[one + 1]] for one in chosen[first:last]]
            if not parts:
                continue
            places, at = np.unique(np.concatenate(parts), return_index=True)
            lengths = [len(part) for part in parts]
            gained[places] += np.repeat(gains[first:last], lengths)[at]
            found[places] = True
        if allowed is not None:
            found &= allowed
        kept = np.flatnonzero(found)
        best = kept[np.argsort(-gained[kept], kind="stable")[:depth]]
        return best, gained[best]
