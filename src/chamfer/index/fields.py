"""The fields of a document's metadata, as filters see them."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from chamfer.errors import InputError

Value = str | int | float

# Python can nest a few hundred calls. What people write stays far below.
DEEPEST = 50
# SQLite ends a pattern at a NUL, and cannot store a lone surrogate.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


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
        return "text", storable(value)
    if isinstance(value, bool):
        return "boolean", int(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return "number", int(value)
    try:
        number = float(value)
    except OverflowError:
        return None
    return ("number", number) if math.isfinite(number) else None


def storable(text: str) -> str:
    """A text in which characters that SQLite cannot store are replaced."""
    return UNSTORABLE.sub("\ufffd", text)


def short(text: str) -> str:
    """A text, shortened for error messages."""
    text = text if len(text) <= 40 else text[:40] + "…"
    return text if text.isprintable() else repr(text)
