"""Queries to try on an index: some of its own titles and, of documents without one, beginnings of their texts."""

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.index.snapshot import Snapshot

EXAMPLES = 8
"""Number of examples."""

# Documents that are looked at for each example: some have no title, or one that says nothing.
LOOKED_AT = 8

# Characters of a text that are looked at for its first sentence.
GLANCE = 400

# Characters of an example. A shorter one says little, even if letters are words; a longer one is no query.
SHORTEST, LONGEST = 4, 100
# Words of the beginning of a text, if its first sentence is too long; characters, if its script has no spaces. A short
# word at the end most likely belongs to the next ones.
WORDS, CHARACTERS, SHORT = 8, 24, 3

# Names of documents without a name, in the languages in which programs most often write them.
UNTITLED = re.compile(
    r"(?:untitled(?: \w+)?|no title|unknown|unnamed|document|new document|page|sheet|index|home|readme|none|null|n/?a|"
    r"test|todo|ohne titel|unbenannt|sans titre|sin título|senza titolo|sem título|无标题|無題|без названия)"
    r"[\s\d()._-]*",
    re.IGNORECASE,
)
# A path, an address, or the name of a file.
ADDRESS = re.compile(r"\S*(?:://|/|\\|@)\S*|\S+\.[A-Za-z]\w{0,4}")
# The end of a sentence, whose mark belongs to it, or of a heading or paragraph.
END = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？])|\n\s*\n|\n(?![a-z])")  # noqa: RUF001 -- of Chinese and Japanese
# Characters of a line that may have been wrapped, so that its sentence goes on in the next line.
WRAPPED = 50
# What texts begin with that is no part of a sentence: marks of headings, lists and quotations.
MARKS = re.compile(r"[\s#>*=_~`|•–—-]+")  # noqa: RUF001
# An abbreviation, or the number of a list, after which a sentence goes on.
GOES_ON = re.compile(
    r"(?:^|[\s(])(?:\w|\d+|\w\.\w|al|bzw|ca|cf|dr|etc|fig|jr|mr|mrs|ms|no|nr|prof|sr|st|vol|vs)\.$", re.IGNORECASE
)


def examples_of(index: Snapshot, count: int = EXAMPLES) -> list[str]:
    """Examples spread over the documents of an index, the same ones for the same commit; none if nothing would do.

    Args:
        index: snapshot of the index.
        count: largest number of examples.
    """
    found = list[Document]()
    for segment, _, local in index.by_segment(_spread(_beginnings(index), count * LOOKED_AT)):
        found += segment.database.beginnings(local, GLANCE)
    chosen = list[str]()
    for make in MAKERS:
        queries = [(document, make(document)) for document in found]
        new = distinct([*chosen, *(query for _, query in queries if query)])[len(chosen) :]
        chosen += [new[place] for place in _spread(np.arange(len(new)), count - len(chosen)).tolist()]
        found = [document for document, query in queries if not query]
    return chosen


def from_title(title: str) -> str:
    """A title as a query; empty if it would not make one.

    >>> [from_title(title) for title in ("  Calcium and  bones. ", "Untitled (2)", "report_final.pdf", "1984")]
    ['Calcium and bones', '', '', '']
    """
    return _query(_without_marks(title))


def first_sentence(text: str) -> str:
    r"""The first sentence of a text as a query, or its heading; empty if it would not make one.

    >>> first_sentence("# Bread\n\nKnead flour and water."), first_sentence("Dr. Smith bakes. He sleeps.")
    ('Bread', 'Dr. Smith bakes')
    """
    return _query(_sentence(text))


def first_words(text: str) -> str:
    """The first words of a text as a query, or its first characters if its script has no spaces.

    >>> first_words("A parser is described here based on the idea that words are known")
    'A parser is described here based'
    """
    sentence = _sentence(text)
    words = sentence.split()
    if len(sentence) > LONGEST * len(words):
        return _query(sentence[:CHARACTERS])
    words = words[:WORDS]
    while words and len(words[-1]) <= SHORT:
        words.pop()
    return _query(" ".join(words))


def _sentence(text: str) -> str:
    rest = _without_marks(text)
    for end in END.finditer(rest):
        sentence = rest[: end.start()]
        if not GOES_ON.search(sentence) and not (end.group() == "\n" and len(sentence) >= WRAPPED):
            return sentence
    return rest


MAKERS: tuple[Callable[[Document], str], ...] = (
    lambda document: from_title(document.title),
    lambda document: first_sentence(document.text),
    lambda document: first_words(document.text),
)
"""How to make an example of a document, the best way first."""


def distinct(texts: Iterable[str]) -> list[str]:
    """Texts without those that repeat an earlier one, in capitals or not."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(text.casefold(), text)
    return list(found.values())


def interleaved(lists: Sequence[Sequence[str]], count: int = EXAMPLES) -> list[str]:
    """The first examples of several lists, then their second ones and so on, each once.

    >>> interleaved([["a", "b"], [], ["c", "A", "d"]], 3)
    ['a', 'c', 'b']
    """
    longest = max(map(len, lists), default=0)
    return distinct(each[place] for place in range(longest) for each in lists if place < len(each))[:count]


def _query(text: str) -> str:
    """A text as a query, without the full stop; empty if it is too short or long, or says nothing."""
    query = " ".join(text.split()).rstrip(".。,;: ")
    letters = sum(character.isalpha() for character in query)
    if not SHORTEST <= len(query) <= LONGEST or not query.isprintable() or 2 * letters < len(query):
        return ""
    return "" if UNTITLED.fullmatch(query) or ADDRESS.fullmatch(query) else query


def _without_marks(text: str) -> str:
    marks = MARKS.match(text)
    return text if marks is None else text[marks.end() :]


def _beginnings(index: Snapshot) -> npt.NDArray[np.int64]:
    """The places at which live documents begin."""
    starts = zip(index.starts.tolist(), index.segments, strict=False)
    places = np.concatenate([np.empty(0, np.int64), *(start + segment.database.firsts() for start, segment in starts)])
    return places if index.live is None else places[index.live[places]]


def _spread(places: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Some of the places, evenly spread; all of them if there are fewer."""
    if len(places) <= count:
        return places
    return places[(np.arange(count) * 2 + 1) * len(places) // (2 * count)]
