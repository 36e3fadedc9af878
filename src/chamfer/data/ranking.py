"""A ranking: documents in order of their scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.support.notebook import table
from chamfer.support.strings import list_of_strings

Scores = Sequence[float] | npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The documents found for one query, best first. Ties are broken by document id, so that runs are repeatable.

    Args:
        query_id: id of the query.
        document_ids: ids of the documents, best first.
        scores: their scores; higher is closer.

    >>> Ranking.of("q1", ["b", "c", "a"], [0.5, 0.9, 0.5]).document_ids
    ('c', 'a', 'b')
    """

    query_id: str
    document_ids: tuple[str, ...]
    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.document_ids) != len(self.scores):
            raise InputError(f"got {len(self.scores)} scores for {len(self.document_ids)} documents")

    def __len__(self) -> int:
        return len(self.document_ids)

    @classmethod
    def of(
        cls,
        query_id: str,
        document_ids: Sequence[str],
        scores: Scores,
        k: int | None = None,
    ) -> Self:
        """Sort documents by score, and keep the top ``k``.

        Args:
            query_id: id of the query.
            document_ids: ids of the documents, in any order.
            scores: their scores.
            k: number of documents to keep; all by default.
        """
        values = np.asarray(scores, dtype=np.float64)
        if len(values) != len(document_ids):
            raise InputError(f"got {len(values)} scores for {len(document_ids)} documents")
        if np.isnan(values).any():
            raise InputError(f"query {query_id!r} has a NaN score; check its vectors")
        order = sorted(range(len(values)), key=lambda place: (-values[place], document_ids[place]))[:k]
        return cls(query_id, tuple(document_ids[i] for i in order), tuple(float(values[i]) for i in order))

    def rescored(self, scores: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]) -> Self:
        """Internal: the same order with other scores.

        Args:
            scores: turns all scores into the others.
        """
        return replace(self, scores=tuple(scores(np.array(self.scores, np.float64)).tolist()))

    def at_least(self, score: float) -> Self:
        """The documents that score at least this much."""
        kept = sum(one >= score for one in self.scores)
        return replace(self, document_ids=self.document_ids[:kept], scores=self.scores[:kept])

    def _repr_html_(self) -> str:
        rows = zip(range(1, len(self) + 1), self.document_ids, self.scores, strict=True)
        return table(["", "document", "score"], rows, caption=self.query_id)


def rank_texts(
    documents: Mapping[str, str] | Sequence[str],
    score: Callable[[Sequence[str]], Scores],
    *,
    k: int | None,
    query_id: str = "query",
) -> Ranking:
    """Rank texts by their scores; a list of texts gets positions as ids, by which ties are broken."""
    if isinstance(documents, Mapping):
        return Ranking.of(query_id, list(documents), score(list(documents.values())), k)
    texts = list_of_strings(documents, "documents")
    # Ids of equal length, so that ties, which are broken by id, fall in the order of the list.
    width = len(str(len(texts)))
    ranking = Ranking.of(query_id, [f"{position:0{width}}" for position in range(len(texts))], score(texts), k)
    return Ranking(query_id, tuple(str(int(position)) for position in ranking.document_ids), ranking.scores)
