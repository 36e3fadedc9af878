"""From texts to the words that BM25 counts."""

from collections.abc import Sequence

import bm25s
import Stemmer


def words_of(texts: Sequence[str]) -> list[list[str]]:
    """Split each text into lower-case words of two letters or more, without English stop words, stemmed.

    What a word becomes depends on that word alone, so texts may be split in any portions.

    >>> words_of(["The cats sat, and sat.", "of the"])
    [['cat', 'sat', 'sat'], []]
    """
    # A stemmer is made in a microsecond and may not be shared among threads.
    words: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=Stemmer.Stemmer("english"), return_ids=False, show_progress=False
    )
    return words
