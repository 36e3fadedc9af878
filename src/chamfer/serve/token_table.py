"""What a version of the weights says of every token: prepared once, so that each keystroke gets its answer at once."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from chamfer.explain.words import Spelling
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.versions import WeightsVersion
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.changes import Changes
from chamfer.weights.distribution import Bin, histogram
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.token_origins import ORIGINS, TokenOrigin, token_origins
from chamfer.weights.token_weights import TokenWeights

Order = Literal["heaviest", "lightest", "frequent"]

# Words that everybody who knows the documents knows: as many of the most frequent ones.
FREQUENT = 100


class Spelled:
    """How the tokens of a vocabulary are spelled.

    Args:
        vocabulary: the vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        spelling, self.tokens = Spelling(vocabulary), vocabulary.tokens
        self.texts = [spelling.text([token]) for token in range(len(vocabulary))]
        # Each behind itself, because the first token of a text begins a word whatever its spelling.
        self.starts = spelling.starts(np.repeat(np.arange(len(vocabulary)), 2).tolist())[1::2]
        self.searched = [
            token.lower() if token == text else f"{token}\n{text}".lower()
            for token, text in zip(vocabulary.tokens, self.texts, strict=True)
        ]
        words = [
            starts and text.isalpha() and (len(text) > 1 or not text.isascii())
            for starts, text in zip(self.starts, self.texts, strict=True)
        ]
        self.is_word = np.array(words, np.bool_) & ~vocabulary.is_special
        # Ties of weight and frequency are broken in favour of whole words, then by the alphabet.
        places = sorted(range(len(vocabulary)), key=lambda token: (not self.is_word[token], vocabulary.tokens[token]))
        self.rank = np.argsort(np.array(places))

    def fields(self, token: int) -> dict[str, Any]:
        """The fields of :class:`chamfer.serve.schemas.fields.TokenFields`."""
        return {"token": self.tokens[token], "text": self.texts[token], "starts_word": self.starts[token]}


@lru_cache(maxsize=2)
def spelled(vocabulary: Vocabulary) -> Spelled:
    """How the tokens of a vocabulary are spelled; found out once."""
    return Spelled(vocabulary)


@dataclass(frozen=True, eq=False)
class TokenTable:
    """A version of the weights over the tokens of one commit of the index.

    Args:
        number: number of the version.
        weights: its weights.
        frequencies: document frequencies of the index, or of all shards.
    """

    number: int
    weights: TokenWeights
    frequencies: DocumentFrequencies

    @property
    def spelled(self) -> Spelled:
        """How the tokens are spelled."""
        return spelled(self.weights.vocabulary)

    @cached_property
    def occurring(self) -> npt.NDArray[np.bool_]:
        """``(vocabulary,)`` whether a token carries text and occurs in a document."""
        return (self.frequencies.counts > 0) & ~self.weights.vocabulary.is_special

    @cached_property
    def frequent(self) -> npt.NDArray[np.bool_]:
        """``(vocabulary,)`` whether a token is one of the most frequent whole words."""
        order = self._orders["frequent"]
        words = order[(self.occurring & self.spelled.is_word)[order]]
        return np.isin(np.arange(len(order)), words[:FREQUENT])

    @cached_property
    def bins(self) -> list[Bin]:
        """The distribution of the weights of the tokens that occur."""
        return histogram(self.weights.table[self.occurring])

    @cached_property
    def middle(self) -> tuple[float, float] | None:
        """The weights that enclose the middle half of the tokens that occur; None if none does."""
        values = self.weights.table[self.occurring]
        low, high = np.quantile(values, (0.25, 0.75), method="nearest") if len(values) else (0.0, 0.0)
        return (float(low), float(high)) if len(values) else None

    def is_of(self, other: "TokenTable") -> bool:
        """Whether both hold the same."""
        same = self.weights is other.weights and self.frequencies is other.frequencies
        return same and self.number == other.number

    def origin(self, token: int) -> TokenOrigin:
        """Where the weight of a token comes from."""
        return ORIGINS[int(self._origins[token])]

    def before(self, token: int) -> float | None:
        """The weight of a token before it was learnt or set by hand; None if it was not, or if nobody knows."""
        changes: Changes | None = self.weights.changes
        return float(changes.before[token]) if changes is not None and changes.kinds[token] else None

    def find(
        self,
        contains: str = "",
        order: Order = "heaviest",
        limit: int = 50,
        *,
        least: float | None = None,
        below: float | None = None,
        frequent: bool = False,
    ) -> list[int]:
        """Find tokens; of equal weights, the most frequent first.

        Args:
            contains: text that their spelling contains. Tokens that are spelled so come first.
            order: ``frequent`` begins with the tokens of most documents.
            limit: largest number of tokens.
            least: smallest weight; with it, or with ``below``, only tokens that occur.
            below: weight that they must be below.
            frequent: only the most frequent whole words.
        """
        order_of, wanted = self._orders[order], contains.lower()
        table, searched = self.weights.table, self.spelled.searched
        allowed = np.ones(len(table), np.bool_) if wanted else ~self.weights.vocabulary.is_special
        if frequent:
            allowed = self.frequent
        if least is not None:
            allowed = allowed & self.occurring & (table >= np.float32(least))
        if below is not None:
            allowed = allowed & self.occurring & (table < np.float32(below))
        found: list[int] = order_of[allowed[order_of]].tolist()
        if not wanted:
            return found[:limit]
        found = [token for token in found if wanted in searched[token]]
        return sorted(found, key=lambda token: wanted not in searched[token].split("\n"))[:limit]

    @cached_property
    def _origins(self) -> npt.NDArray[np.uint8]:
        return token_origins(self.weights, self.frequencies)

    @cached_property
    def _orders(self) -> dict[Order, npt.NDArray[np.int64]]:
        weights, counts, rank = self.weights.table, self.frequencies.counts, self.spelled.rank
        return {  # np.lexsort sorts by its last key first
            "heaviest": np.lexsort((rank, -counts, -weights)),
            "lightest": np.lexsort((rank, -counts, weights)),
            "frequent": np.lexsort((rank, -weights, -counts)),
        }


class TokenTables:
    """The table of the version that was looked at last."""

    def __init__(self) -> None:
        self._last: TokenTable | None = None

    def of(self, queries: QueryEncoder, version: WeightsVersion) -> TokenTable:
        """The table of a version; made again when the index or the version changes.

        Args:
            queries: encodes queries for the commit that is served.
            version: the version.
        """
        found = TokenTable(version.number, queries.resolve(version.weights), queries.index.frequencies)
        if self._last is None or not self._last.is_of(found):
            self._last = found
        return self._last
