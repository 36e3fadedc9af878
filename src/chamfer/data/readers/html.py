"""The title and the text of a page of HTML. Needs the extra ``chamfer[html]``."""

import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from chamfer.data.readers.html_encoding import decoded_page
from chamfer.data.readers.parts import Parts
from chamfer.errors import InputError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
    from bs4.element import PageElement

# What a reader of the page does not see. The head is not among them: without </head> it holds the whole page, and all
# that belongs into a head is listed here or has no text.
UNSEEN = frozenset(("script", "style", "template", "noscript", "title", "svg"))
# What begins on a new line.
BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|caption|center|d[dlt]|div|fieldset|fig(?:caption|ure)|footer|form|h[1-6r]|"
    "header|legend|li|main|nav|[ou]l|option|p|pre|section|summary|t(?:able|d|h|r)|textarea"
)
# Elements whose spaces and line breaks are shown.
VERBATIM = frozenset(("pre", "textarea"))
HEADINGS = frozenset(("h1", "h2", "h3"))
# A title that is not closed holds the rest of the page: browsers show nothing of it, and we close it at the next tag.
OPEN_TITLE = re.compile(
    r"(<title\b[^<>]*(?<!/)>[^<\n]*+)((?:(?!</?title\b|</head\b|<body\b).)*+)(?=</head\b|<body\b|<title\b|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def html_parts(content: bytes, where: str) -> Parts:
    r"""The title, and the text, with a line for each block.

    Without ``<title>``, the first heading is the title. A heading at the very top is not repeated in the text.

    >>> html_parts(b"<title>Cats</title><h1>All cats</h1><p>sleep <b>all</b> day</p>", "cats.html")
    Parts(title='Cats', text='All cats\nsleep all day', metadata={})
    """
    try:
        from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning
        from bs4.exceptions import ParserRejectedMarkup
    except ModuleNotFoundError as error:
        raise InputError(f"{where} is HTML, which needs beautifulsoup4; run: pip install 'chamfer[html]'") from error
    text = OPEN_TITLE.sub(r"\1</title>\2", decoded_page(content, where))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
            warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
            page = BeautifulSoup(text, "html.parser")
    except (ParserRejectedMarkup, RecursionError, AssertionError) as error:
        raise InputError(f"{where} cannot be parsed as HTML; remove it, or save its text") from error
    return _parts(page)


def _parts(page: "BeautifulSoup") -> Parts:
    """One walk through the page, so the time grows with its length only."""
    from bs4 import CData, Tag
    from bs4.element import NavigableString

    lines = _Lines()
    title = ""
    headings: list[str] = []
    heading: list[str] | None = None
    hidden = verbatim = svg = 0
    for node, opens in _walk(page):
        if not isinstance(node, Tag):
            if type(node) in (NavigableString, CData) and not hidden:  # the others are comments and the like
                lines.add(str(node), verbatim=verbatim > 0)
                if heading is not None:
                    heading.append(str(node))
            continue
        step = 1 if opens else -1
        if node.name == "title" and opens and not svg and not title:
            title = _spaced([node.get_text()])
        svg += step * (node.name == "svg")
        hidden += step * (node.name in UNSEEN)
        verbatim += step * (node.name in VERBATIM)
        if BLOCKS.fullmatch(node.name):
            lines.end()
        if node.name in HEADINGS and not hidden:
            if opens:
                heading = []
            elif heading is not None:
                headings.append(_spaced(heading))
                heading = None
    lines.end()
    first = next(filter(None, headings), "")
    title = title or first
    if title and title == first and lines.whole[:1] == [first]:
        del lines.whole[0]
    return Parts(title, "\n".join(lines.whole).strip("\n"))


def _walk(page: "Tag") -> "Iterator[tuple[PageElement, bool]]":
    """All elements in order; tags twice, where they open and where they close. Pages may nest deeply."""
    from bs4 import Tag

    open_tags: list[tuple[Tag, Iterator[PageElement]]] = [(page, iter(page.contents))]
    while open_tags:
        tag, inside = open_tags[-1]
        node = next(inside, None)
        if node is None:
            open_tags.pop()
            if open_tags:
                yield tag, False
            continue
        yield node, True
        if isinstance(node, Tag):
            open_tags.append((node, iter(node.contents)))


class _Lines:
    """The lines of a text: a line break of the source is a space, except in verbatim text."""

    def __init__(self) -> None:
        self.whole: list[str] = []
        self._pieces: list[str] = []
        self._verbatim = False

    def add(self, text: str, *, verbatim: bool) -> None:
        """Add text to the line."""
        if verbatim:
            text = text.replace("\r\n", "\n")
            first, *rest = text.removeprefix("" if self._verbatim else "\n").split("\n")
            self._pieces.append(first)
            self._verbatim = True
            for line in rest:
                self._end_verbatim()
                self._pieces.append(line)
        else:
            self._pieces.append(text)

    def end(self) -> None:
        """End the line, if there is one."""
        if self._verbatim:
            if any(map(str.strip, self._pieces)):
                self._end_verbatim()
            self._pieces, self._verbatim = [], False
        elif line := _spaced(self._pieces):
            self.whole.append(line)
        self._pieces = []

    def _end_verbatim(self) -> None:
        self.whole.append("".join(self._pieces).rstrip())
        self._pieces = []


def _spaced(pieces: list[str]) -> str:
    return " ".join("".join(pieces).split())
