"""The fields of a document's metadata, as filters see them."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from chamfer.errors import InputError

Value = str | int | float

NUMBER, DATE, TEXT, BOOLEAN = "number", "date", "text", "boolean"
"""Kinds of values. Filters see a date as text."""

STORED_AS: Mapping[str, tuple[type, ...]] = {NUMBER: (int, float), TEXT: (str,), BOOLEAN: (int,)}
"""The types in which SQLite keeps the values of each kind."""

# Python can nest a few hundred calls. What people write stays far below.
DEEPEST = 50
# SQLite ends a pattern at a NUL, and cannot store a lone surrogate.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# A day, with or without a time: text that filters compare in order.
DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
DAY_AND_TIME = re.compile(f"{DAY}(?:[T ]{TIME})?")


def fields_of(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str, Value]]:
    """Yield name, kind and value of every field.

    Names of nested objects are joined by dots. A list yields each of its elements, null yields nothing. Integers
    beyond 64 bits are rounded to floats, here and in filters. NaN and infinity are errors, as in JSON.

    >>> list(fields_of({"year": 2021, "author": {"name": "Ada", "born": None}, "tags": ["a", True]}))
    [('year', 'number', 2021), ('author.name', 'text', 'Ada'), ('tags', 'text', 'a'), ('tags', 'boolean', 1)]
    """
    return _fields("", metadata, 0)


def _fields(name: str, value: Any, depth: int) -> Iterator[tuple[str, str, Value]]:  # noqa: ANN401 -- JSON
    if depth > DEEPEST:
        raise InputError(f"metadata may be nested {DEEPEST} levels deep, but {short(name)} is deeper; flatten it")
    if isinstance(value, Mapping):
        for key, part in value.items():
            if not isinstance(key, str):
                raise InputError(f"names in metadata must be strings, not {key!r}; write it as a string")
            yield from _fields(f"{name}.{key}" if depth else key, part, depth + 1)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _fields(name, part, depth + 1)
    elif value is not None:
        if not isinstance(value, str | int | float):
            raise InputError(
                f"metadata must be JSON, but {short(name)} is a {type(value).__name__}; write it as a string"
            )
        kept = kept_as(value)
        if kept is None:
            raise InputError(
                f"a number in metadata must be finite, but {short(name)} is not; leave it out or write null"
            )
        yield storable(name), *kept


def kept_as(value: Value) -> tuple[str, Value] | None:
    """The kind of a value and how SQLite stores it, or None for a number beyond the range of floats."""
    if isinstance(value, str):
        return TEXT, storable(value)
    if isinstance(value, bool):
        return BOOLEAN, int(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return NUMBER, int(value)
    try:
        number = float(value)
    except OverflowError:
        return None
    return (NUMBER, number) if math.isfinite(number) else None


def is_date(text: str) -> bool:
    """Whether a text is a date, or a date and a time, that filters compare in order.

    >>> is_date("2024-01-02"), is_date("2024-01-02T08:30:00+00:00"), is_date("2024-13-02"), is_date("2024")
    (True, True, False, False)
    """
    return DAY_AND_TIME.fullmatch(text) is not None


def kind_of(stored_as: str, value: Value) -> str:
    """The kind of a value: that of filters, but with dates apart from other text."""
    return DATE if isinstance(value, str) and is_date(value) else stored_as


def storable(text: str) -> str:
    """A text in which characters that SQLite cannot store are replaced."""
    return UNSTORABLE.sub("\ufffd", text)


def short(text: str) -> str:
    """A text, shortened for error messages."""
    text = text if len(text) <= 40 else text[:40] + "…"
    return text if text.isprintable() else repr(text)
