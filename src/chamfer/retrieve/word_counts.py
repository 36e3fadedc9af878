"""What BM25 knows of a corpus: enough to score any text for a query, without the documents."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from chamfer.retrieve.words import words_of

Number = TypeVar("Number", float, npt.NDArray[Any])

K1, B = 1.5, 0.75


class WordCounts(NamedTuple):
    """Counts over the documents of a corpus. Those of shards add up to the counts of the whole corpus.

    Args:
        documents: number of documents.
        words: number of words in all of them, repetitions included.
        containing: number of documents that contain a word, at least for the words of the queries at hand.

    >>> counts = WordCounts.sum([WordCounts(10, 40, {"cat": 1}), WordCounts(20, 80, {"cat": 2})])
    >>> counts.documents, counts.words, counts.containing["cat"], counts.average
    (30, 120, 3, 4.0)
    >>> print(counts.scores("cats", ["a cat and a cat", "a dog"]).round(2))
    [1.49 0.  ]
    """

    documents: int
    words: int
    containing: Mapping[str, int]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """The counts of a corpus that is at hand, for queries with any words.

        >>> WordCounts.of(["a cat and a cat", "a dog"])
        WordCounts(documents=2, words=3, containing=Counter({'cat': 1, 'dog': 1}))
        """
        return cls.of_words(words_of(texts))

    @classmethod
    def of_words(cls, texts: Sequence[Sequence[str]]) -> Self:
        """The counts of a corpus whose words are at hand.

        Args:
            texts: the words of each text, from :func:`chamfer.retrieve.words.words_of`.
        """
        containing = Counter(word for words in texts for word in set(words))
        return cls(len(texts), sum(map(len, texts)), containing)

    @classmethod
    def sum(cls, parts: Iterable[Self]) -> Self:
        """The counts of several corpora taken together."""
        documents, words, containing = 0, 0, Counter[str]()
        for part in parts:
            documents, words = documents + part.documents, words + part.words
            containing.update(part.containing)
        return cls(documents, words, containing)

    @property
    def average(self) -> float:
        """Words per document."""
        # Without a single word nothing is ever found, so any average will do.
        return self.words / max(self.documents, 1) or 1.0

    def idf(self, word: str) -> float:
        """The idf of a word, see :class:`chamfer.retrieve.bm25.BM25Stage`."""
        return idf(self.documents, self.containing.get(word, 0))

    def scores(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """``(texts,)`` BM25's scores of texts, which need not be in the corpus, for a query whose words are counted."""
        words, *split = words_of([query, *texts])
        scores = np.zeros(len(texts), np.float32)
        for at, own in enumerate(split):
            counts, half = Counter(own), half_of(len(own), self.average, K1, B)
            for word in words:  # in the order of the query, in 32 bits, so that sums round as in a search
                if counts[word]:
                    scores[at] += np.float32(self.idf(word) * (counts[word] / (half + counts[word])))
        return scores

    def own(self, query: str) -> float:
        """The score of a query's own text, which is what a perfect match has; see :mod:`chamfer.weights.scale`."""
        return float(self.scores(query, [query])[0])


def idf(documents: int, containing: int) -> float:
    """The idf of a word that some of the documents contain."""
    # 64 bits here and 32 in the sum, as in bm25s, so that even ties are the same.
    return float(np.float32(math.log(1 + (documents - containing + 0.5) / (containing + 0.5))))


def half_of(length: Number, average: float, k1: float, b: float) -> Number:
    """The count at which a word adds half of its idf to a document of this length."""
    return k1 * ((1 - b) + b * length / average)
