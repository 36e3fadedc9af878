"""In how many documents each token appears."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.tokens.batch import TokenIds


@dataclass(frozen=True, slots=True, eq=False)
class DocumentFrequencies:
    """How many of ``documents`` documents contain each token.

    Counts of parts of a corpus add up to the counts of the whole, exactly, and a removed document is
    subtracted, so that a changing corpus is counted document by document, as it changes.

    Args:
        counts: ``(vocabulary,)`` int64, the number of documents with each token.
        documents: how many documents were counted.

    >>> first = DocumentFrequencies.count([[0, 2, 2], [2]], vocabulary_size=3)
    >>> both = first + DocumentFrequencies.count([[1]], vocabulary_size=3)
    >>> both.counts.tolist(), both.documents
    ([1, 1, 2], 3)
    >>> both.idf().round(4).tolist()
    [0.9808, 0.9808, 0.47]
    """

    counts: npt.NDArray[np.int64]
    documents: int

    def __post_init__(self) -> None:
        if self.documents < 0 or (self.counts < 0).any() or (self.counts > self.documents).any():
            raise InputError("a token is counted once per document: counts must lie between 0 and all documents")

    @classmethod
    def count(
        cls,
        token_ids: Iterable[TokenIds | list[int]],
        *,
        vocabulary_size: int,
        sample: float = 1.0,
        seed: int = 0,
    ) -> Self:
        """Count a stream of documents, each given by its token ids.

        Args:
            token_ids: one array per document, repetitions allowed.
            vocabulary_size: how many tokens there are.
            sample: count only about this share of the documents. Whether a document is taken depends on
                its tokens and the seed alone, so parts of a corpus still add up to the whole.
            seed: another seed takes other documents.
        """
        if not 0 < sample <= 1:
            raise InputError(f"the share of documents to count must be above 0 and at most 1, not {sample}")
        if not 0 <= seed < 2**64:
            raise InputError(f"the seed must be a whole number from 0 to 2**64 - 1, not {seed}")
        counts = np.zeros(vocabulary_size, dtype=np.int64)
        documents = 0
        for document in token_ids:
            ids = np.unique(np.asarray(document, dtype=np.int64))
            if len(ids) and (ids[0] < 0 or ids[-1] >= vocabulary_size):
                raise InputError(f"token id {ids[-1]} lies outside the vocabulary of {vocabulary_size} tokens")
            if sample < 1 and _share(ids, seed) >= sample:
                continue
            counts[ids] += 1
            documents += 1
        return cls(counts, documents)

    def __add__(self, other: Self) -> Self:
        self._check_same_vocabulary(other)
        return type(self)(self.counts + other.counts, self.documents + other.documents)

    def __sub__(self, removed: Self) -> Self:
        self._check_same_vocabulary(removed)
        return type(self)(self.counts - removed.counts, self.documents - removed.documents)

    def idf(self) -> npt.NDArray[np.float64]:
        """``log((N - n + 0.5) / (n + 0.5) + 1)`` for every token, and 0 for tokens in no document.

        The paper's definition with its footnote.
        """
        if self.documents == 0:
            raise InputError("IDF needs at least one counted document; give a larger corpus or sample")
        n = self.counts.astype(np.float64)
        return np.where(n > 0, np.log((self.documents - n + 0.5) / (n + 0.5) + 1), 0.0)

    def _check_same_vocabulary(self, other: Self) -> None:
        if len(self.counts) != len(other.counts):
            raise InputError(
                f"frequencies over {len(self.counts)} and {len(other.counts)} tokens belong to different tokenizers"
            )


def _share(ids: npt.NDArray[np.int64], seed: int) -> float:
    """A number in [0, 1) that only the document's tokens and the seed decide."""
    digest = hashlib.blake2b(ids.tobytes(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little") / 2**64
