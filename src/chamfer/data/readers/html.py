"""The title and the text of a page of HTML. Needs the extra ``chamfer[html]``."""

import re
from typing import TYPE_CHECKING

from chamfer.data.readers.parts import Parts
from chamfer.errors import InputError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

# What a reader of the page does not see, and what begins on a new line.
UNSEEN = ["script", "style", "template", "noscript", "head", "title", "svg"]
BLOCKS = re.compile(
    "address|article|aside|blockquote|br|caption|center|d[dlt]|div|fieldset|fig(?:caption|ure)|footer|form|h[1-6r]|header|"
    "legend|li|main|nav|[ou]l|option|p|pre|section|summary|t(?:able|d|h|r)"
)


def html_parts(content: bytes, where: str) -> Parts:
    r"""The title, which is the first heading without ``<title>``, and the text, with a line for each block.

    >>> html_parts(b"<title>Cats</title><h1>All cats</h1><p>sleep <b>all</b> day</p>", "cats.html")
    Parts(title='Cats', text='All cats\nsleep all day', metadata={})
    """
    try:
        from bs4 import BeautifulSoup
        from bs4.exceptions import ParserRejectedMarkup
    except ModuleNotFoundError as error:
        raise InputError(f"{where} is HTML, which needs beautifulsoup4; run: pip install 'chamfer[html]'") from error
    try:
        page = BeautifulSoup(content, "html.parser")
    except (ParserRejectedMarkup, RecursionError, AssertionError) as error:
        raise InputError(f"{where} cannot be parsed as HTML; remove it, or save its text") from error
    if page.contains_replacement_characters:
        raise InputError(f"{where} has bytes that do not fit its encoding; save it as UTF-8")
    return Parts(_title(page), _text(page))


def _title(page: "BeautifulSoup") -> str:
    for name in (["title"], ["h1", "h2", "h3"]):
        found = page.find(name)
        if found is not None and (title := " ".join(found.get_text().split())):
            return title
    return ""


def _text(page: "BeautifulSoup") -> str:
    for unseen in page.find_all(UNSEEN):
        unseen.decompose()
    for block in page.find_all(lambda tag: BLOCKS.fullmatch(tag.name) is not None):
        block.insert_before("\n\0")
        block.insert_after("\n\0")
    # A line break of the source is a space; one of a block is followed by a NUL, which HTML cannot contain.
    lines = re.split("\n\0", page.get_text())
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))
