"""Documents drawn from a corpus, which are read when they are needed, so that their texts are never all in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from chamfer.data.corpus import Corpus
from chamfer.data.documents import Document

# Documents in memory at once.
AT_ONCE = 16


@dataclass(frozen=True)
class Drawn(Sequence[str]):
    """The contents of some documents of a corpus.

    Args:
        corpus: the corpus.
        places: places of the documents.

    >>> from chamfer.data.corpus import documents_from
    >>> drawn = Drawn(documents_from({"a": "cats", "b": "dogs", "c": "owls"}), [2, 0])
    >>> drawn.ids(), drawn[0], drawn[0:2]
    (['c', 'a'], 'owls', ['owls', 'cats'])
    """

    corpus: Corpus
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [document.content for document in self.corpus.take(self.places[place])]
        return self.corpus.take([self.places[place]])[0].content

    def parts(self) -> Iterator[list[Document]]:
        """The documents, a few at a time."""
        for start in range(0, len(self), AT_ONCE):
            yield self.corpus.take(self.places[start : start + AT_ONCE])

    def ids(self) -> list[str]:
        """Their ids."""
        return [document.id for part in self.parts() for document in part]
