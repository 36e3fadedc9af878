"""Syntax errors in filters: where they are, and what to type instead."""

import unicodedata

from chamfer.errors import InputError
from chamfer.index.fields import short

# Characters of a long filter that are shown on each side of the place.
SHOWN = 50

NULL = "write 'is null' or 'is not null'"
UNUSUAL = "put unusual names in double quotes"
FIELD_FIRST = "write the field first, as in year > 2020"
AGAIN = "write the field again, as in year > 2000 and year < 2010"

# What people type out of habit, by what was expected, and what to type instead.
JOINING = {
    **dict.fromkeys(["&", "&&", ",", ";"], "write 'and'"),
    **dict.fromkeys(["|", "||"], "write 'or'"),
    **dict.fromkeys(["<", "<=", ">", ">=", "=", "==", "!="], AGAIN),
}
COMPARING = {
    **dict.fromkeys([":", ":=", "eq", "equals"], "write ="),
    **dict.fromkeys(["!", "ne"], "write !="),
    **dict.fromkeys(["~", "=~", "~=", "contains", "includes", "matches", "ilike"], "write like '%…%'"),
    "between": "write year >= 2000 and year <= 2010",
}
AFTER_EQUAL = {"<": "write <=", ">": "write >=", "=": "write ="}
NOTHING = ("null", "none", "nil")


class FilterSyntaxError(InputError):
    """A filter that cannot be parsed. Python and the command line show the place below the sentence.

    Attributes:
        position: the place, counted from 1.
    """

    position = 1


def at_position(message: str, text: str, position: int) -> FilterSyntaxError:
    """The error for a place in a filter.

    Args:
        message: one sentence.
        text: the filter.
        position: the place, counted from 1.
    """
    error = FilterSyntaxError(message)
    error.position = position
    error.add_note(marked(text, position))
    return error


def marked(text: str, position: int) -> str:
    """Two lines: a filter, or what is around the place in a long one, and a caret below the place.

    >>> print(marked("year > and lang = 'en'", 8))
      year > and lang = 'en'
             ^
    """
    place = position - 1
    start = max(0, place - SHOWN)
    before, after = text[start:place], text[place : place + SHOWN]
    before, after = ("…" if start else "") + before, after + ("…" if place + SHOWN < len(text) else "")
    line = "".join(character if character.isprintable() else " " for character in before + after)
    return f"  {line}\n  {' ' * sum(map(_columns, line[: len(before)]))}^"


def _columns(character: str) -> int:
    """The columns of a terminal that a character takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def bare(said: str) -> str:
    """A string without its quotes, of any kind, shortened."""
    return short(said.strip("'\"`\u2018\u2019\u201c\u201d"))
