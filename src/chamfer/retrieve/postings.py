"""Postings: the documents of a segment that contain a word, with counts; computed once, then memory-mapped."""

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from chamfer.index.damage import damaged, missing
from chamfer.index.derived import load_array, remedy_for
from chamfer.index.texts import TEXTS
from chamfer.retrieve.words import words_of

# Increase the number whenever words are split differently or the file format changes. Two libraries split words.
NAME = f"bm25-1-{version('bm25s')}-{version('PyStemmer')}"
WORDS, STARTS, DOCUMENTS = "words.txt", "starts.npy", "documents.npy"
COUNTS, DOCUMENT_LENGTHS = "counts.npy", "lengths.npy"

# Characters split into words at a time; memory then peaks 94 MB above the start on acl-titles.
PORTION = 1 << 22

# A posting in the temporary file, before all words are known: word and document, then the count.
TEMPORARY = np.dtype([("key", "<i8"), ("count", "<i4")])

Content = TypeVar("Content")
Integers = npt.NDArray[np.int32]
Starts = npt.NDArray[np.int64]


class TextSegment(Protocol):
    """What postings need from a segment: its texts, and files derived from them."""

    def __len__(self) -> int: ...

    def texts(self) -> Iterator[str]:
        """All texts, in the order of places."""

    def derived(
        self,
        name: str,
        make: Callable[[Path], None],
        read: Callable[[Path], Content],
        *,
        sources: Collection[str] | None = None,
    ) -> Content:
        """See :meth:`chamfer.index.derived.Derived.open`."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The words of a segment's documents.

    Args:
        words: the words in UTF-8, sorted by their bytes.
        starts: ``(words + 1,)`` where the postings of each word start.
        documents: ``(postings,)`` the documents that contain the word, in order.
        counts: ``(postings,)`` the count of the word in each.
        lengths: ``(documents,)`` number of words in each document, repetitions included.
        folder: where all of this is stored.
        checked: numbers of the words whose postings were found to be possible.
    """

    words: list[bytes]
    starts: Starts
    documents: Integers
    counts: Integers
    lengths: Integers
    folder: Path
    checked: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, segment: TextSegment) -> Self:
        """The postings of a segment, computed at first use."""

        def make(folder: Path) -> None:
            write_postings(folder, segment.texts())

        return segment.derived(NAME, make, lambda folder: cls.open(folder, len(segment)), sources=(TEXTS,))

    @classmethod
    def open(cls, folder: Path, count: int) -> Self:
        """Memory-map the files that :func:`write_postings` wrote for ``count`` texts."""
        try:
            *words, rest = (folder / WORDS).read_bytes().split(b"\n")  # every word ends with a line feed
        except FileNotFoundError as error:
            raise missing(folder / WORDS, remedy_for(folder)) from error
        starts = load_array(folder / STARTS, np.int64)
        names = (DOCUMENTS, COUNTS, DOCUMENT_LENGTHS)
        documents, counts, lengths = (load_array(folder / name, np.int32) for name in names)
        if (
            (rest, len(starts), len(lengths)) != (b"", len(words) + 1, count)
            or (starts[0], starts[-1], len(counts)) != (0, len(documents), len(documents))
            or (np.diff(starts) < 0).any()
            or lengths.min(initial=0) < 0
        ):
            raise damaged(folder, "its files are inconsistent", remedy_for(folder))
        return cls(words, starts, documents, counts, lengths, folder)

    def find(self, word: str) -> tuple[Integers, Integers]:
        """The documents that contain a word, in order, and its count in each; empty for an unknown word."""
        key = word.encode()
        number = bisect_left(self.words, key)
        if number == len(self.words) or self.words[number] != key:
            return self.documents[:0], self.counts[:0]
        chosen = slice(self.starts[number], self.starts[number + 1])
        documents, counts = self.documents[chosen], self.counts[chosen]
        if number not in self.checked:  # checksums of large files are not compared when they are opened
            if (
                not 0 <= documents.min(initial=0) <= documents.max(initial=0) < len(self.lengths)
                or counts.min(initial=1) < 1
            ):
                raise damaged(self.folder, f"the postings of {word!r} are impossible", remedy_for(self.folder))
            self.checked.add(number)
        return documents, counts


def write_postings(folder: Path, texts: Iterable[str]) -> None:
    """Write the postings of texts into a folder.

    Memory holds the distinct words and one portion of the texts at a time, however many texts there are. Postings wait
    in a temporary file until the number of postings of each word is known.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_postings(Path(folder), ["cats and a cat", "", "dogs and cats"])
    ...     documents, counts = Postings.open(Path(folder), 3).find("cat")
    >>> documents.tolist(), counts.tolist()
    ([0, 2], [2, 1])
    """
    numbers: dict[str, int] = {}  # of the words, in order of appearance
    frequencies = np.zeros(0, np.int64)
    lengths: list[Integers] = []
    sizes: list[int] = []
    first = 0
    with TemporaryFile(dir=folder) as aside:
        for portion in _portions(texts):
            words = words_of(portion)
            lengths.append(np.array([len(each) for each in words], np.int32))
            found = np.array([numbers.setdefault(word, len(numbers)) for each in words for word in each], np.int64)
            documents = np.repeat(np.arange(first, first + len(portion)), lengths[-1])
            keys, counts = np.unique(found << 32 | documents, return_counts=True)
            rows = np.empty(len(keys), TEMPORARY)
            rows["key"], rows["count"] = keys, counts
            aside.write(rows.tobytes())
            sizes.append(len(rows))
            new = np.bincount(keys >> 32, minlength=len(numbers))
            new[: len(frequencies)] += frequencies
            frequencies = new
            first += len(portion)
        encoded = [word.encode() for word in numbers]
        order = np.array(sorted(range(len(encoded)), key=encoded.__getitem__), np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(frequencies[order])])
        heads = np.empty(len(encoded), np.int64)  # where the next posting of each word goes
        heads[order] = starts[:-1]
        aside.seek(0)
        _sort(aside, sizes, heads, _reserve(folder / DOCUMENTS, starts[-1]), _reserve(folder / COUNTS, starts[-1]))
    (folder / WORDS).write_bytes(b"".join(encoded[number] + b"\n" for number in order))
    np.save(folder / STARTS, starts)
    np.save(folder / DOCUMENT_LENGTHS, np.concatenate([np.zeros(0, np.int32), *lengths]))


def _portions(texts: Iterable[str]) -> Iterator[list[str]]:
    """Consecutive texts, about :data:`PORTION` characters at a time."""
    portion: list[str] = []
    size = 0
    for text in texts:
        portion.append(text)
        size += len(text) + 1  # empty texts take memory too
        if size >= PORTION:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _sort(aside: IO[bytes], sizes: list[int], heads: Starts, documents: Integers, counts: Integers) -> None:
    """Move postings, sorted by word and document within each portion, to their final positions."""
    for size in sizes:
        rows = np.frombuffer(aside.read(size * TEMPORARY.itemsize), TEMPORARY)
        words = rows["key"] >> 32
        per_word = np.bincount(words, minlength=len(heads))
        targets = (heads - (np.cumsum(per_word) - per_word))[words] + np.arange(size)
        documents[targets] = rows["key"] & 0xFFFFFFFF
        counts[targets] = rows["count"]
        heads += per_word


def _reserve(path: Path, size: int) -> Any:  # noqa: ANN401 -- np.load is not typed more closely
    """A new file of int32 numbers, memory-mapped for writing."""
    with path.open("wb") as file:
        header = {"descr": "<i4", "fortran_order": False, "shape": (int(size),)}
        np.lib.format.write_array_header_1_0(file, header)
        # On a full disk this raises an error; writing to a mapped file without space would kill the process.
        os.posix_fallocate(file.fileno(), 0, file.tell() + 4 * int(size))
    return np.load(path, mmap_mode="r+")
