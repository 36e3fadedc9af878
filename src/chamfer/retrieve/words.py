"""Splits texts into the words that BM25 counts."""

from collections.abc import Sequence

import Stemmer

from chamfer.retrieve.bm25_engine import bm25s


def words_of(texts: Sequence[str]) -> list[list[str]]:
    """Split each text into lower-case words of two letters or more, without English stop words, stemmed.

    Every text is split by itself, so texts can be processed in portions of any size.

    >>> words_of(["The cats sat, and sat.", "of the"])
    [['cat', 'sat', 'sat'], []]
    """
    # A stemmer takes a microsecond to create and must not be shared between threads.
    words: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=Stemmer.Stemmer("english"), return_ids=False, show_progress=False
    )
    return words
