"""BM25 over whole words: the first stage of the paper's main setting."""

from collections.abc import Mapping, Sequence

import bm25s
import numpy as np
import Stemmer

from chamfer.errors import InputError
from chamfer.ranking import Ranking


class BM25:
    """The Lucene variant, English stop words and stemming, ``k1 = 1.5`` and ``b = 0.75``.

    Token weights play no part here: BM25 has weights of its own.

    >>> stage = BM25({"a": "the cat sat", "b": "dogs bark at cats", "c": "no animal"})
    >>> stage.search({"q": "barking dog"}, k=10)[0].document_ids
    ('b',)
    """

    def __init__(self, documents: Mapping[str, str], *, k1: float = 1.5, b: float = 0.75) -> None:
        if not documents:
            raise InputError("BM25 needs at least one document")
        self._ids = list(documents)
        self._stemmer = Stemmer.Stemmer("english")
        self._engine = bm25s.BM25(method="lucene", k1=k1, b=b)
        words = self._words(list(documents.values()))
        # An engine without a single word cannot be built; every search over it is empty.
        self._has_words = any(words)
        if self._has_words:
            self._engine.index(words, show_progress=False)

    def search(self, queries: Mapping[str, str], k: int = 1000) -> list[Ranking]:
        """Rank, for each query, the best ``k`` of the documents that share a word with it."""
        words = self._words(list(queries.values()))
        return [self._rank(query_id, terms, k) for query_id, terms in zip(queries, words, strict=True)]

    def _rank(self, query_id: str, words: list[str], k: int) -> Ranking:
        if not words or not self._has_words:
            return Ranking(query_id, (), ())
        scores = self._engine.get_scores(words)
        found = np.flatnonzero(scores > 0)
        if len(found) > k:  # drop what cannot be among the best k before sorting the rest by score and id
            found = found[scores[found] >= np.partition(scores[found], -k)[-k]]
        return Ranking.of(query_id, [self._ids[place] for place in found], scores[found], k)

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        words: list[list[str]] = bm25s.tokenize(
            list(texts), stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )
        return words
