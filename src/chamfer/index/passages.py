"""Documents as the rows of an index: whole, or split into passages; and rows in chunks, each of which is a commit."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from chamfer.data.corpus import Corpus
from chamfer.data.documents import Document
from chamfer.data.passages import PassageSize, passages_of, split
from chamfer.support.progress import Progress

if TYPE_CHECKING:  # it imports torch, which takes seconds, and a writer only needs the order of rows
    from chamfer.encode.encoder import Encoder

# A chunk ends after this many characters, so that long documents are not all in memory.
CHUNK_CHARACTERS = 2**23


def place_of(row: Document) -> tuple[str, int]:
    """What rows are sorted by: the id, and the number of the passage."""
    return row.id, row.passage.number if row.passage is not None else 0


def key_of(row: Document) -> str:
    """A name for a row that no other row has."""
    return row.id if row.passage is None else f"{row.passage.number} {row.id}"


class Splitter:
    """Splits documents as an encoder reads them.

    Args:
        encoder: the encoder.
        size: size of the passages.
    """

    def __init__(self, encoder: "Encoder", size: PassageSize) -> None:
        self._encoder, self._size = encoder, size
        some = "a"
        # Markers, and a prompt that is read before every document.
        self._special = len(encoder.tokenize([some], "document").token_ids[0]) - len(encoder.offsets(some))

    def spans(self, document: Document) -> list[tuple[int, int]]:
        """Where the passages of a document start and end in its text."""
        return split(
            document.text, self._size, tokens=self._encoder.offsets, special=self._special, title=document.title
        )

    def rows(self, document: Document) -> list[Document]:
        """The passages of a document."""
        return passages_of(document, self.spans(document))


class Units(Protocol):
    """The rows that a corpus has in an index; the documents themselves are read again whenever they are needed."""

    @property
    def what(self) -> str:
        """What a row is, in the plural."""
        ...

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def before(self, document: int) -> int:
        """The number of rows of all documents before one."""
        ...

    def groups(self, start: int) -> Iterator[list[Document]]:
        """The rows of every document from one on."""
        ...

    def take(self, rows: Sequence[int]) -> list[Document]:
        """Some rows, in the given order."""
        ...


class WholeDocuments:
    """Every document is a row; see :class:`Units`."""

    what = "documents"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._corpus)

    def before(self, document: int) -> int:
        """See :class:`Units`."""
        return document

    def groups(self, start: int) -> Iterator[list[Document]]:
        """See :class:`Units`."""
        return ([document] for document in self._corpus.read(start))

    def take(self, rows: Sequence[int]) -> list[Document]:
        """See :class:`Units`."""
        return self._corpus.take(rows)


class Passages:
    """Every passage is a row; see :class:`Units`. Of a passage, only where it starts and ends stays in memory.

    Args:
        corpus: the documents.
        splitter: splits them.
        progress: progress reporting.
    """

    what = "passages"

    def __init__(self, corpus: Corpus, splitter: Splitter, progress: Progress) -> None:
        self._corpus = corpus
        self._starts, self._stops, self._firsts = array("q"), array("q"), array("q", [0])
        with progress("splitting documents into passages", len(corpus)) as advance:
            for document in corpus.read():
                for start, stop in splitter.spans(document):
                    self._starts.append(start)
                    self._stops.append(stop)
                self._firsts.append(len(self._starts))
                advance(1)

    def __len__(self) -> int:
        return len(self._starts)

    def before(self, document: int) -> int:
        """See :class:`Units`."""
        return self._firsts[document]

    def groups(self, start: int) -> Iterator[list[Document]]:
        """See :class:`Units`."""
        return (self._rows(place, document) for place, document in enumerate(self._corpus.read(start), start))

    def take(self, rows: Sequence[int]) -> list[Document]:
        """See :class:`Units`."""
        found: dict[int, Document] = {}
        wanted: dict[int, list[int]] = {}
        for row in rows:
            wanted.setdefault(bisect_right(self._firsts, row) - 1, []).append(row)
        for place, own in wanted.items():  # one document at a time, because each may be long
            [document] = self._corpus.take([place])
            passages = self._rows(place, document)
            found |= {row: passages[row - self._firsts[place]] for row in own}
        return [found[row] for row in rows]

    def _rows(self, place: int, document: Document) -> list[Document]:
        own = slice(self._firsts[place], self._firsts[place + 1])
        return passages_of(document, list(zip(self._starts[own], self._stops[own], strict=True)))


class Chunk(NamedTuple):
    """Rows that are encoded together.

    Args:
        rows: the rows, sorted.
        documents: number of documents that they belong to.
        ends: whether a commit ends here; not inside a document that is longer than a chunk.
    """

    rows: list[Document]
    documents: int
    ends: bool = True


def chunks_of(groups: Iterable[list[Document]], size: int) -> Iterator[Chunk]:
    """The rows of documents in chunks of up to ``size``, and of up to some millions of characters.

    A document is in one commit whole. So one with more rows than that has several chunks, and a commit of its own.
    """
    waiting: list[Document] = []
    documents = characters = 0
    for group in groups:
        if documents and (len(waiting) + len(group) > size or characters >= CHUNK_CHARACTERS):
            yield Chunk(sorted(waiting, key=place_of), documents)
            waiting, documents, characters = [], 0, 0
        if len(group) > size:
            for start in range(0, len(group), size):
                yield Chunk(group[start : start + size], 1, start + size >= len(group))
        else:
            waiting += group
            documents += 1
            characters += sum(len(row.text) for row in group)
    if documents:
        yield Chunk(sorted(waiting, key=place_of), documents)
