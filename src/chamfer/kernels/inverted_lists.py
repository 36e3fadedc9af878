"""Inverted lists: the documents at each centroid, and the candidates found by probing some of them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.kernels import native
from chamfer.tokens.batch import Offsets, offsets_of

# Documents sorted into lists at a time.
AT_A_TIME = 8192


@dataclass(frozen=True, eq=False)
class InvertedLists:
    """The documents that have a token at each centroid.

    Args:
        starts: ``(lists + 1,)`` where each list starts in ``places``.
        places: the documents of all lists, concatenated, in ascending order within each list.
        documents: number of documents.
    """

    starts: npt.NDArray[np.int64]
    places: npt.NDArray[np.uint32]
    documents: int

    @classmethod
    def of(cls, chosen: npt.NDArray[np.integer], offsets: Offsets, count: int) -> Self:
        """Build ``count`` lists from the number of the list that each token of some documents belongs to.

        Takes about six bytes of memory per token: documents are sorted into lists part by part, then parts are merged.

        >>> lists = InvertedLists.of(np.array([1, 0, 1]), np.array([0, 1, 3]), count=2)
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
        """Find the documents with the largest total gain.

        Args:
            ends: ``(query tokens,)`` where the lists of each token end in ``chosen``.
            chosen: the lists to probe for each token, closest first; for each token, a document gains the gain of the
                first of these that contains it.
            gains: the gain of each chosen list.
            depth: number of documents to find.
            allowed: ``(documents,)`` mask of the documents that may be found; all by default.

        Returns:
            Their places and gains, largest gain first; ties broken by place.
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
            places, at = places[places < self.documents], at[places < self.documents]  # as in the native kernel
            lengths = [len(part) for part in parts]
            gained[places] += np.repeat(gains[first:last], lengths)[at]
            found[places] = True
        if allowed is not None:
            found &= allowed
        kept = np.flatnonzero(found)
        best = kept[np.argsort(-gained[kept], kind="stable")[:depth]]
        return best, gained[best]
