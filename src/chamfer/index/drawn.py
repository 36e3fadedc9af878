"""Rows drawn from a corpus, which are read when they are needed, so that their texts are never all in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from chamfer.data.documents import Document
from chamfer.index.passages import Units, key_of

# Rows in memory at once.
ROWS = 16


@dataclass(frozen=True)
class Drawn(Sequence[str]):
    """The contents of some rows of a corpus.

    Args:
        units: the rows of the corpus.
        places: places of the rows.

    >>> from chamfer.data.corpus import documents_from
    >>> from chamfer.index.passages import WholeDocuments
    >>> drawn = Drawn(WholeDocuments(documents_from({"a": "cats", "b": "dogs", "c": "owls"})), [2, 0])
    >>> drawn.keys(), drawn[0], drawn[0:2]
    (['c', 'a'], 'owls', ['owls', 'cats'])
    """

    units: Units
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [row.content for row in self.units.take(self.places[place])]
        return self.units.take([self.places[place]])[0].content

    def parts(self) -> Iterator[list[Document]]:
        """The rows, a few at a time."""
        for start in range(0, len(self), ROWS):
            yield self.units.take(self.places[start : start + ROWS])

    def keys(self) -> list[str]:
        """Their keys."""
        return [key_of(row) for part in self.parts() for row in part]
