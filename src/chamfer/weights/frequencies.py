"""Document frequencies: in how many documents each token occurs."""

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
    """The number of documents that contain each token.

    Counts are additive: the counts of two halves of a corpus add up exactly to those of the whole, and those of a
    deleted document can be subtracted. So a corpus that changes never has to be counted again.

    Args:
        counts: ``(vocabulary,)`` int64, the number of documents that contain each token.
        documents: total number of documents.
        truncated: number of documents that were longer than the encoder reads; None if unknown.

    >>> first = DocumentFrequencies.count([[0, 2, 2], [2]], vocabulary_size=3)
    >>> both = first + DocumentFrequencies.count([[1]], vocabulary_size=3)
    >>> both.counts.tolist(), both.documents
    ([1, 1, 2], 3)
    >>> both.idf().round(4).tolist()
    [0.9808, 0.9808, 0.47]
    """

    counts: npt.NDArray[np.int64]
    documents: int
    truncated: int | None = None

    def __post_init__(self) -> None:
        if self.documents < 0 or (self.counts < 0).any() or (self.counts > self.documents).any():
            raise InputError(f"document frequencies must be between 0 and {self.documents}, the number of documents")

    @classmethod
    def count(
        cls,
        token_ids: Iterable[TokenIds | list[int]],
        *,
        vocabulary_size: int,
        sample: float = 1.0,
        seed: int = 0,
    ) -> Self:
        """Count a stream of tokenised documents.

        Args:
            token_ids: token ids of each document, in any order, repeated or not.
            vocabulary_size: number of tokens in the vocabulary.
            sample: approximate fraction of the documents to count. Whether a document is sampled depends only on
                its tokens and the seed, so that counts of parts still add up to those of the whole.
            seed: random seed of the sample.
        """
        if not 0 < sample <= 1:
            raise InputError(f"the fraction of documents to count must be above 0 and at most 1, not {sample}")
        if not 0 <= seed < 2**64:
            raise InputError(f"the seed must be a whole number from 0 to 2**64 - 1, not {seed}")
        counts = np.zeros(vocabulary_size, dtype=np.int64)
        documents = 0
        for document in token_ids:
            ids = np.unique(np.asarray(document, dtype=np.int64))
            if len(ids) and (ids[0] < 0 or ids[-1] >= vocabulary_size):
                raise InputError(f"token id {ids[-1]} lies outside the vocabulary of {vocabulary_size} tokens")
            if sample < 1 and _hash(ids, seed) >= sample:
                continue
            counts[ids] += 1
            documents += 1
        return cls(counts, documents)

    def __add__(self, other: Self) -> Self:
        self._check_same_vocabulary(other)
        truncated = None if self.truncated is None or other.truncated is None else self.truncated + other.truncated
        return type(self)(self.counts + other.counts, self.documents + other.documents, truncated)

    def __sub__(self, removed: Self) -> Self:
        self._check_same_vocabulary(removed)
        truncated = None if self.truncated is None or removed.truncated is None else self.truncated - removed.truncated
        return type(self)(self.counts - removed.counts, self.documents - removed.documents, truncated)

    def idf(self) -> npt.NDArray[np.float64]:
        """Inverse document frequency: ``log((N - n + 0.5) / (n + 0.5) + 1)``, and 0 for tokens in no document.

        This is the paper's definition, including its footnote.

        Returns:
            ``(vocabulary,)`` float64.
        """
        if self.documents == 0:
            raise InputError("IDF needs at least one document; count a larger corpus or a larger sample")
        n = self.counts.astype(np.float64)
        return np.where(n > 0, np.log((self.documents - n + 0.5) / (n + 0.5) + 1), 0.0)

    def _check_same_vocabulary(self, other: Self) -> None:
        if len(self.counts) != len(other.counts):
            raise InputError(
                f"document frequencies of {len(self.counts)} and {len(other.counts)} tokens come from different "
                "tokenizers; count both with one encoder"
            )


def _hash(ids: npt.NDArray[np.int64], seed: int) -> float:
    """Hash a document's tokens and the seed to a number in [0, 1)."""
    digest = hashlib.blake2b(ids.tobytes(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little") / 2**64
