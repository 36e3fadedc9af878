"""Which queries weights were learnt from: their digests are metadata, so that an evaluation can leave them out."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from chamfer.data.queries import words_of

LEARNT_QUERIES = "learnt_queries"
"""The field of the metadata; missing if there are too many queries, or if an earlier version learnt the weights."""

# What fits into the metadata. A digest has 32 bits: of 4,000 others, one in a million is taken for a given query.
MOST, CHARACTERS = 4000, 8


def with_learnt_queries(metadata: Mapping[str, Any], words: Iterable[str]) -> dict[str, Any]:
    """Metadata of weights that say which queries they were learnt from.

    Args:
        metadata: metadata of the weights.
        words: the words of each query, see :func:`chamfer.data.queries.words_of`; empty ones are unknown.
    """
    found = sorted({_digest(one) for one in words if one})
    return {**metadata, LEARNT_QUERIES: found} if 0 < len(found) <= MOST else dict(metadata)


def learnt_from(metadata: Iterable[Mapping[str, Any]], queries: Mapping[str, str]) -> set[str]:
    """The ids of those queries that some weights were learnt from.

    Args:
        metadata: metadata of the weights.
        queries: query texts by id.

    >>> made = with_learnt_queries({}, [words_of("Why do cats sleep?")])
    >>> learnt_from([made, {}], {"a": "why do cats sleep", "b": "do dogs bark"})
    {'a'}
    """
    known = {digest for one in metadata for digest in one.get(LEARNT_QUERIES, ())}
    return {query for query, text in queries.items() if _digest(words_of(text)) in known} if known else set()


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:CHARACTERS]
