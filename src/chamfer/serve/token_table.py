"""What a version of the weights says of every token: prepared once, so that each keystroke gets its answer at once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.spellings import Spelled, spelled
from chamfer.serve.versions import WeightsVersion
from chamfer.weights.changes import Changes
from chamfer.weights.distribution import Bin, histogram
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.token_origins import ORIGINS, TokenOrigin, token_origins
from chamfer.weights.token_weights import TokenWeights

Order = Literal["heaviest", "lightest", "frequent"]

# Words that everybody who knows the documents knows: as many of the most frequent ones.
FREQUENT = 100


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
