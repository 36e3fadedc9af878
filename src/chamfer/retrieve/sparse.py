"""BM25 as sparse vectors, for engines that store such vectors: their inner product is our BM25 score.

All statistics are part of the document vectors, so that every shard of an engine uses those of the whole corpus, and a
client needs none.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chamfer.retrieve.bm25 import BM25Stage, Places
from chamfer.retrieve.words import words_of


class SparseVector(NamedTuple):
    """The non-zero dimensions of a long vector, and their values."""

    indices: list[int]
    values: list[float]


def sparse_documents(stage: BM25Stage, places: Places, texts: Sequence[str]) -> list[SparseVector]:
    """What each word of some documents adds to their scores.

    Args:
        stage: BM25 over the index of the documents.
        places: places of the documents.
        texts: their texts, in the same order.
    """
    return [_vector(gains) for gains in stage.gains(places, texts)]


def sparse_query(text: str) -> SparseVector:
    """The count of each word in a query.

    >>> sparse_query("cats and a cat").values
    [2.0]
    """
    return _vector(Counter(words_of([text])[0]))


def _vector(values: Mapping[str, float]) -> SparseVector:
    found: dict[int, float] = {}
    for word, value in values.items():
        number = _number(word)
        found[number] = found.get(number, 0.0) + value
    return SparseVector(list(found), list(found.values()))


def _number(word: str) -> int:
    """The dimension of a word, the same everywhere; of 100,000 words about one pair collides and counts as one."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")
