"""Long texts in passages that overlap and end at headings, blank lines and sentences where there are some."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from chamfer.data.documents import Document, Passage
from chamfer.errors import InputError

DEFAULT_OVERLAP = 32
"""Tokens that two passages in a row have in common, about; a quarter of a passage at most."""

Spans = Sequence[tuple[int, int]]
"""Starts and ends, in characters."""

# A shorter passage would be mostly special tokens.
SHORTEST = 8

# Characters per token to read first, and at most: the encoder reads a text whole that has no more.
CHARACTERS, MOST_CHARACTERS = 6, 32
# Tokens at the end of what was read that may differ from those of the whole text.
UNSURE = 8

# A passage ends at the last good place in the final third of what fits.
KEPT = 2 / 3
# The share of a passage that overlaps with the next one, at most.
MOST_OVERLAP = 1 / 4
# The share of the tokens that is left to the text if a title is very long.
LEAST_TEXT = 1 / 4

HEADING = re.compile(r"^(?=#{1,6}[ \t]+\S)", re.MULTILINE)
BLANK_LINE = re.compile(r"\n[ \t\r]*\n\s*")
SENTENCE = re.compile(r"[.!?…]+[\"'”’)\]]*\s+|[。！？]+[」』”’)]*\s*|\n\s*")  # noqa: RUF001 -- of any language
SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class PassageSize:
    """The size of passages.

    Args:
        length: maximum number of tokens of a passage, with its title and special tokens.
        overlap: tokens that a passage repeats of the one before it, about.
    """

    length: int
    overlap: int

    @classmethod
    def of(cls, length: int, overlap: int | None = None) -> Self:
        """A size with the default overlap."""
        return cls(length, min(DEFAULT_OVERLAP, length // 4) if overlap is None else overlap)

    def __post_init__(self) -> None:
        if self.length < SHORTEST:
            raise InputError(f"passages must have at least {SHORTEST} tokens, not {self.length}")
        most = int(MOST_OVERLAP * self.length)
        if not 0 <= self.overlap <= most:
            raise InputError(
                f"passages of {self.length} tokens can overlap by 0 to {most} tokens, not by {self.overlap}"
            )


def split(
    text: str, size: PassageSize, *, tokens: Callable[[str], Spans], special: int, title: str = ""
) -> list[tuple[int, int]]:
    """Split a text into passages; returns where each one starts and ends.

    Together they cover the text, in order. A text that fits is one passage. Only a few thousand characters are
    tokenised at a time, so time grows with the length of the text, and memory does not.

    Args:
        text: the text.
        size: size of the passages.
        tokens: finds the tokens of a text, special ones left out; nothing may be cut off.
        special: number of special tokens of a text.
        title: title that is encoded in front of every passage. If it takes more than three quarters of the tokens, the
            passages are longer than asked for, and the encoder cuts them.
    """
    most = size.length - special
    head = f"{title} " if title else ""
    if len(head) + len(text) <= MOST_CHARACTERS * size.length and len(tokens(head + text)) <= most:
        return [(0, len(text))]
    room = most - (len(tokens(title[: MOST_CHARACTERS * size.length])) if title else 0)
    if room < LEAST_TEXT * size.length:
        head, most = head[-1:], int(LEAST_TEXT * size.length)
        room = most
    splitter = _Splitter(text, room, min(size.overlap, int(MOST_OVERLAP * room)), tokens, head, most)
    found: list[tuple[int, int]] = []
    start = 0
    while True:
        stop, following = splitter.passage(start)
        if found and stop <= found[-1][1]:  # all of it was in the passage before
            start = found[-1][1]
            stop, following = splitter.passage(start)
        found.append((start, stop))
        if stop == len(text):
            return found
        start = following


class _Splitter:
    """Finds one passage after the other.

    Args:
        text: the text.
        room: number of tokens of a passage.
        overlap: tokens that passages have in common.
        tokens: finds the tokens of a text.
        head: what is encoded in front of every passage.
        most: maximum number of tokens of a passage, with its head.
    """

    def __init__(
        self, text: str, room: int, overlap: int, tokens: Callable[[str], Spans], head: str, most: int
    ) -> None:
        self._text, self._room, self._overlap = text, room, overlap
        self._tokens, self._head, self._most = tokens, head, most
        self._longest = MOST_CHARACTERS * room
        self._reach = min(CHARACTERS * room, self._longest)

    def passage(self, start: int) -> tuple[int, int]:
        """Where a passage ends, and where the next one starts."""
        text, spans = self._text, self._read(start)
        end = min(start + self._reach, len(text))
        count = min(self._room, len(spans))
        while True:
            # Where the first token starts that does not fit; or where reading stopped, among very long words.
            last = max(start + 1, spans[count][0]) if count < len(spans) else end
            low = max(start + 1, spans[int(KEPT * count)][0]) if count < len(spans) else start + 1
            for limit in dict.fromkeys((self._after_space(last), last)):
                stop = limit if limit >= len(text) else _boundary(text, low, limit, start)
                # Tokens may depend on what follows, most often inside a word; and spaces may be tokens.
                excess = len(self._tokens(self._head + text[start:stop])) - self._most
                if excess <= 0:
                    break
            if excess <= 0 or count <= 1:
                break
            count = max(1, count - excess)
        self._reach = min(max(CHARACTERS * self._room, 3 * (stop - start) // 2), self._longest)
        return stop, self._next(start, stop, spans)

    def _read(self, begin: int) -> Spans:
        """The tokens from a place on, more than fit if possible."""
        text, lead = self._text, self._head[-1:]  # the space between title and text
        shift = begin - len(lead)
        while True:
            read = self._tokens(lead + text[begin : begin + self._reach])
            enough = len(read) >= self._room + UNSURE
            if enough or begin + self._reach >= len(text) or self._reach == self._longest:
                return [(max(begin, one + shift), other + shift) for one, other in read]
            self._reach = min(2 * self._reach, self._longest)

    def _after_space(self, place: int) -> int:
        """The first place from here on that is not in a space; of very many spaces, only some are skipped."""
        found = SPACE.match(self._text, place, place + self._longest)
        return place if found is None else found.end()

    def _next(self, start: int, stop: int, spans: Spans) -> int:
        """Where the passage after one that ends at ``stop`` starts: some tokens earlier, unless a heading is there."""
        inside = [one for one, _ in spans if one < stop]
        overlap = min(self._overlap, len(inside) // 2)
        if not overlap or HEADING.match(self._text, stop):
            return stop
        wanted = inside[-overlap]
        low = inside[-min(len(inside) - 1, 3 * overlap // 2)]
        high = inside[-max(1, overlap // 2)]
        sentences = [one.end() for one in SENTENCE.finditer(self._text, low, high) if low <= one.end() <= high]
        if sentences:
            chosen = min(sentences, key=lambda place: abs(place - wanted))
        else:
            word = next((one.end() for one in SPACE.finditer(self._text, wanted - 1, stop)), stop)
            chosen = word if word < stop else wanted
        return chosen if start < chosen < stop else stop


def _boundary(text: str, low: int, last: int, start: int) -> int:
    """The best place to end a passage, at most ``last``: at a heading or blank line, else a sentence, else a word."""
    places = [one.start() for one in HEADING.finditer(text, low, last + len("###### a"))]
    places += [
        one.end() for one in BLANK_LINE.finditer(text, low, last) if not _is_heading(text, one.start())
    ]  # a heading stays with the text below it
    places = places or [one.end() for one in SENTENCE.finditer(text, low, last)]
    places = [place for place in places if low <= place <= last]
    if not places and (text[last - 1].isspace() or text[last : last + 1].isspace()):
        return last
    places = places or [one.end() for one in SPACE.finditer(text, start + 1, last)]
    return max(places, default=last)


def _is_heading(text: str, end: int) -> bool:
    """Whether the line that ends at a place is a heading of Markdown."""
    return HEADING.match(text, text.rfind("\n", 0, end) + 1) is not None


def passages_of(document: Document, spans: Spans) -> list[Document]:
    """The passages of a document, each with its title and metadata.

    >>> cats = Document("cats", "Cats purr. Cats sleep.", title="Cats")
    >>> [(one.text, str(one.passage)) for one in passages_of(cats, [(0, 11), (11, 22)])]
    [('Cats purr. ', 'passage 1 of 2'), ('Cats sleep.', 'passage 2 of 2')]
    """
    return [
        Document(
            document.id,
            document.text[start:stop],
            document.title,
            document.metadata,
            Passage(number, len(spans), start, stop),
        )
        for number, (start, stop) in enumerate(spans, 1)
    ]


def put_together(passages: Sequence[Document]) -> Document:
    """The document that some passages are all of, in order; a ``ValueError`` if they are not.

    >>> cats = Document("cats", "Cats purr. Cats sleep.", title="Cats")
    >>> put_together(passages_of(cats, [(0, 11), (5, 22)])) == cats
    True
    """
    first, found = passages[0], [one.passage for one in passages]
    places = [one for one in found if one is not None]
    numbers = [(one.number, one.of) for one in places]
    if numbers != [(number, len(passages)) for number in range(1, len(passages) + 1)] or places[0].start:
        raise ValueError("passages of a document are missing")
    texts = [first.text]
    for (before, one), passage in zip(pairwise(places), passages[1:], strict=True):
        if not before.start <= one.start <= before.stop <= one.stop:
            raise ValueError("passages of a document are not in order")
        texts.append(passage.text[before.stop - one.start :])
    return Document(first.id, "".join(texts), first.title, first.metadata)
