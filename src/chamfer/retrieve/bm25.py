"""BM25 over whole words: the first stage of the paper's main setting, for a list of texts and for an index."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.retrieve.bm25_engine import bm25s
from chamfer.retrieve.postings import Postings, TextSegment
from chamfer.retrieve.stage import Candidates, Queries, Stage
from chamfer.retrieve.word_counts import K1, B, WordCounts, half_of, idf
from chamfer.retrieve.words import words_of

Places = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.float64]
Idf = Callable[[str], float]


class BM25:
    """The Lucene variant, English stop words and stemming, ``k1 = 1.5`` and ``b = 0.75``.

    Token weights have no effect: BM25 has its own.

    >>> stage = BM25({"a": "the cat sat", "b": "dogs bark at cats", "c": "no animal"})
    >>> stage.search({"q": "barking dog"}, k=10)[0].document_ids
    ('b',)
    """

    def __init__(self, documents: Mapping[str, str], *, k1: float = K1, b: float = B) -> None:
        if not documents:
            raise InputError("BM25 needs at least one document")
        self._ids = list(documents)
        self._places = {identifier: place for place, identifier in enumerate(self._ids)}
        self._engine = bm25s.BM25(method="lucene", k1=k1, b=b)
        words = words_of(list(documents.values()))
        self._counts = WordCounts.of_words(words)
        # bm25s cannot index a corpus without a single word; every search over it is empty.
        self._has_words = any(words)
        if self._has_words:
            self._engine.index(words, show_progress=False)

    def search(self, queries: Mapping[str, str], k: int = 1000) -> list[Ranking]:
        """Rank the top k documents for each query, among those that share a word with it."""
        words = words_of(list(queries.values()))
        return [self._rank(query_id, terms, k) for query_id, terms in zip(queries, words, strict=True)]

    def scores(self, query: str, documents: Sequence[str]) -> Scores:
        """The scores of some documents for one query; 0 for one that shares no word with it.

        Args:
            query: query text.
            documents: ids of documents.
        """
        [words] = words_of([query])
        return self._dense(words)[[self._places[identifier] for identifier in documents]]

    def own(self, query: str) -> float:
        """The score of a query's own text, see :meth:`chamfer.retrieve.word_counts.WordCounts.own`."""
        return self._counts.own(query)

    def _rank(self, query_id: str, words: list[str], k: int) -> Ranking:
        scores = self._dense(words)
        found = np.flatnonzero(scores > 0)
        if len(found) > k:  # drop what cannot be in the top k before sorting the rest by score and id
            found = found[scores[found] >= np.partition(scores[found], -k)[-k]]
        return Ranking.of(query_id, [self._ids[place] for place in found], scores[found], k)

    def _dense(self, words: list[str]) -> Scores:
        if not words or not self._has_words:
            return np.zeros(len(self._ids), np.float32)
        scores: Scores = self._engine.get_scores(words)
        return scores


class TextIndex(Protocol):
    """What BM25 needs from an index: its segments, where each starts, and which documents are not deleted."""

    @property
    def segments(self) -> Sequence[TextSegment]:
        """The segments, in the order of places."""

    @property
    def starts(self) -> Places:
        """``(segments + 1,)`` the first place of each segment."""

    @property
    def live(self) -> npt.NDArray[np.bool_] | None:
        """``(places,)`` mask of the documents that are not deleted; None if none is deleted."""


class BM25Stage:
    """The same scores over an index that can change.

    ``score[d] = sum_w idf(w) * count(w, d) / (count(w, d) + k1 * (1 - b + b * length(d) / average))`` over the
    words of the query, repeated words counted each time, with
    ``idf(w) = log(1 + (N - n(w) + 0.5) / (n(w) + 0.5))``. The number of documents ``N``, how many contain a word
    ``n(w)`` and the average length are taken over all documents that are not deleted, so scores depend neither on
    how the index is divided into segments nor on a filter.

    Token weights have no effect: BM25 has its own.

    Args:
        index: the index to search; the postings of each segment are computed once and stored beside it.
        k1: how slowly repetitions of a word in a document saturate, 0 or more.
        b: how strongly long documents are penalised, from 0 to 1.
    """

    def __init__(self, index: TextIndex, *, k1: float = K1, b: float = B) -> None:
        if not 0 <= k1 < math.inf or not 0 <= b <= 1:
            raise InputError(f"k1 must be 0 or more and b from 0 to 1, not k1 = {k1} and b = {b}")
        self._postings = [Postings.of(segment) for segment in index.segments]
        self._starts = index.starts
        self._live = index.live
        lengths = np.concatenate([np.zeros(0, np.int32), *(postings.lengths for postings in self._postings)])
        counted = lengths if self._live is None else lengths[self._live]
        self._totals = WordCounts(len(counted), int(counted.sum(dtype=np.int64)), {})
        self._containing: dict[str, int] = {}
        self._k1, self._b, self._lengths = k1, b, lengths
        self._half = half_of(lengths, self._totals.average, k1, b)

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None = None) -> list[Candidates]:
        """Find the top ``depth`` documents for each query, among the allowed ones that share a word with it."""
        if depth < 1:
            raise InputError(f"depth must be at least 1, not {depth}")
        if allowed is not None and allowed.shape != self._half.shape:
            raise InputError(f"a filter needs {len(self._half)} entries, one per place, not shape {allowed.shape}")
        if self._live is not None:
            allowed = self._live if allowed is None else self._live & allowed
        return [self._best(words, depth, allowed) for words in words_of(queries.texts)]

    def counts(self, queries: Sequence[str]) -> WordCounts:
        """The counts of the words of some queries."""
        words = {word for words in words_of(queries) for word in words}
        return self._totals._replace(containing={word: self._count_of(word) for word in words})

    def scores(self, text: str, places: Places | None = None, counts: WordCounts | None = None) -> Scores:
        """The scores of some documents for one query; 0 for one that shares no word with it.

        Args:
            text: query text.
            places: places of the documents; all places by default.
            counts: counts of the corpus that the index is a shard of; by default the index is all of it.
        """
        [words] = words_of([text])
        half = self._half if counts is None else half_of(self._lengths, counts.average, self._k1, self._b)
        idf_of = self._idf_of if counts is None else counts.idf
        if places is None:
            return self._dense(words, half, idf_of)
        order = np.argsort(places, kind="stable")
        wanted, scores = places[order], np.zeros(len(places), np.float32)
        gains = {word: self._gain_at(word, wanted, half, idf_of) for word in set(words)}
        for word in words:  # in the order of the query, so that sums round as in `find`
            scores += gains[word]
        scores[order] = scores.copy()
        return scores

    def gains(self, places: Places, texts: Sequence[str]) -> list[dict[str, float]]:
        """What each word adds to the scores of some documents, for every time that it occurs in a query.

        Args:
            places: places of the documents.
            texts: their texts, in the same order.
        """
        counted = [Counter(words) for words in words_of(texts)]
        return [
            {word: self._idf_of(word) * count / (half + count) for word, count in counts.items()}
            for counts, half in zip(counted, self._half[places].tolist(), strict=True)
        ]

    def _best(self, words: list[str], depth: int, allowed: npt.NDArray[np.bool_] | None) -> Candidates:
        scores = self._dense(words, self._half, self._idf_of)
        found = np.flatnonzero(scores > 0 if allowed is None else (scores > 0) & allowed)
        of_found = scores[found]
        if len(found) > depth:  # drop what cannot be in the top before sorting the rest
            kept = of_found >= np.partition(of_found, -depth)[-depth]
            found, of_found = found[kept], of_found[kept]
        order = np.argsort(-of_found, kind="stable")[:depth]  # ties broken by place
        return Candidates(found[order], of_found[order])

    def _dense(self, words: list[str], half: Numbers, idf_of: Idf) -> Scores:
        scores = np.zeros(len(half), np.float32)
        gains = {word: self._gain(word, half, idf_of) for word in set(words)}
        for word in words:  # in the order of the query, so that sums round as in bm25s
            places, gain = gains[word]
            scores[places] += gain
        return scores

    def _gain_at(self, word: str, wanted: Places, half: Numbers, idf_of: Idf) -> Scores:
        """What a word adds to the score of some documents, whose places ascend."""
        gains = np.zeros(len(wanted), np.float32)
        for postings, start, stop in zip(self._postings, self._starts, self._starts[1:], strict=False):
            first, last = np.searchsorted(wanted, (start, stop))
            documents, counts = postings.find(word)
            if first == last or not len(documents):
                continue
            local = wanted[first:last] - start
            at = np.minimum(np.searchsorted(documents, local), len(documents) - 1)
            has = np.flatnonzero(documents[at] == local)
            count = counts[at[has]]
            gain = idf_of(word) * (count / (half[wanted[first + has]] + count))
            gains[first + has] = gain.astype(np.float32)
        return gains

    def _gain(self, word: str, half: Numbers, idf_of: Idf) -> tuple[Places, Scores]:
        """The documents that contain a word, including deleted ones, and what it adds to the score of each."""
        places, counts = self._found(word)
        return places, (idf_of(word) * (counts / (half[places] + counts))).astype(np.float32)

    def _found(self, word: str) -> tuple[Places, npt.NDArray[np.int32]]:
        """The documents that contain a word, including deleted ones, and its count in each."""
        found = [postings.find(word) for postings in self._postings]
        parts = [documents + start for (documents, _), start in zip(found, self._starts, strict=False)]
        places = np.concatenate([np.zeros(0, np.int64), *parts])
        return places, np.concatenate([np.zeros(0, np.int32), *(counts for _, counts in found)])

    def _count_of(self, word: str) -> int:
        """How many documents contain a word."""
        if word not in self._containing:
            if self._live is None:
                counted = sum(len(postings.find(word)[0]) for postings in self._postings)
            else:
                # Deleted documents do not count; filtering them out after scoring is faster than removing them here.
                counted = int(np.count_nonzero(self._live[self._found(word)[0]]))
            self._containing[word] = counted
        return self._containing[word]

    def _idf_of(self, word: str) -> float:
        return idf(self._totals.documents, self._count_of(word))


STAGE = Stage(BM25Stage)
