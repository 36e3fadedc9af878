"""Syntax errors in filters: where they are, and what to type instead."""

import re
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


def quoted(rest: str) -> str:
    """The word that a text begins with, up to the next blank or bracket, in quotes.

    >>> quoted("en-US) and year > 2020"), quoted("O'Brien")
    ("'en-US'", "'O''Brien'")
    """
    word = _WORD.match(rest)
    return "'" + bare(word.group() if word else rest).replace("'", "''") + "'"


def split_number(text: str, comma: int) -> str:
    """What to write instead of a number with a comma in it; nothing if blanks are around the comma.

    Args:
        text: the filter.
        comma: position of the comma, counted from 1.

    >>> split_number("year = 2,000", 9), split_number("score > 2,5", 10), split_number("a = 2, 5", 6)
    ('write numbers without commas: 2000', 'write numbers with a point: 2.5', '')
    """
    before, after = _DIGITS_BEFORE.search(text[: comma - 1]), _DIGITS_AFTER.match(text, comma)
    if before is None or after is None:
        return ""
    thousands = after.group().split(",")
    if all(len(digits) == 3 for digits in thousands):
        return f"write numbers without commas: {before.group()}{''.join(thousands)}"
    return f"write numbers with a point: {before.group()}.{thousands[0]}" if len(thousands) == 1 else ""


_WORD = re.compile(r"[^\s=<>(),\[\]&|!;]+")
_DIGITS_BEFORE, _DIGITS_AFTER = re.compile(r"[+-]?[0-9]+$"), re.compile(r"[0-9]+(?:,[0-9]+)*(?![\w.])")


def bare(said: str) -> str:
    """A string without its quotes, of any kind, shortened."""
    return short(said.strip("'\"`\u2018\u2019\u201c\u201d"))
