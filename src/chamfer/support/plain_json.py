"""JSON as its standard defines it, for content that others send: what Python accepts beyond it is refused."""

import json
import math
import re
import reprlib
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

# Pydantic writes a few hundred levels, and Python can nest about a thousand calls. What people write stays far below.
DEEPEST = 100

# Only an escape can stand for half a character: UTF-8 has none.
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_OPENING, _CLOSING = b"[{", b"]}"
_NO_STRUCTURE = bytes(set(range(256)) - set(_OPENING + _CLOSING + b',"'))
# The beginning that is counted first: that of most content with too many values has too many.
BEGINNING = 1 << 20
# What each byte adds to the depth, as an 8-bit integer.
_DEEPER = bytes(1 if byte in _OPENING else 255 if byte in _CLOSING else 0 for byte in range(256))


class LargeJsonError(ValueError):
    """The content has more values than are allowed."""


def parse_json(
    content: bytes, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None, most: int | None = None
) -> Any:  # noqa: ANN401 -- JSON
    """Parse JSON; anything that could not be written again is a ``ValueError`` that says why.

    Args:
        content: UTF-8.
        pairs: makes an object of its names and values, as in :func:`json.loads`; a dict by default.
        most: largest number of commas and opening brackets outside strings, which bounds the number of values; no
            limit by default. More raise a :class:`LargeJsonError` before they are parsed.

    >>> parse_json(b'{"a": [1]}')
    {'a': [1]}
    >>> parse_json(b"[NaN]")
    Traceback (most recent call last):
    ValueError: it contains NaN
    """
    try:
        content = content.rstrip()
        if most is not None and len(content) > BEGINNING:
            _check_count(_structure(content[:BEGINNING]), most)
        text = content.decode("utf-8-sig")
        # With fewer of them, inside strings or not, it has neither many values nor many levels.
        if sum(map(content.count, (b",", b"[", b"{"))) > (DEEPEST if most is None else min(most, DEEPEST)):
            _check_structure(_structure(content), most)
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=pairs)
        if _ESCAPED_SURROGATE.search(content):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except UnicodeEncodeError:
        raise ValueError("it contains a lone surrogate") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}, line {error.lineno}, column {error.colno}") from None


def _structure(content: bytes) -> bytes:
    """The brackets and commas outside strings; 4 MB take 10 to 20 ms, whatever they are, and parsing them seconds.

    Content that is not JSON has them too, up to where a parser would stop.
    """
    marks = content.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _NO_STRUCTURE)
    values = np.frombuffer(marks, np.uint8)
    quotes = values == ord('"')
    inside = np.cumsum(quotes, dtype=np.uint8) & 1  # an odd number of quotes so far; that they overflow does not matter
    outside: bytes = values[(inside == 0) & ~quotes].tobytes()
    return outside


def _check_structure(structure: bytes, most: int | None) -> None:
    if _check_count(structure, most) > DEEPEST:
        deeper = np.frombuffer(structure.translate(_DEEPER), np.int8)
        if deeper.cumsum(dtype=np.int32).max() > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def _check_count(structure: bytes, most: int | None) -> int:
    count = len(structure.translate(None, _CLOSING))
    if most is not None and count > most:
        raise LargeJsonError(f"it has more than {most:,} commas and opening brackets outside strings")
    return count


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"it contains a number beyond 1.8e308, {reprlib.repr(number)[1:-1]}")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it contains {constant}")
