"""JSON as its standard defines it, for content that others send: what Python accepts beyond it is refused."""

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

# Pydantic writes a few hundred levels, and Python can nest about a thousand calls. What people write stays far below.
DEEPEST = 100

# Only an escape can stand for half a character: UTF-8 has none.
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse_json(content: bytes, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:  # noqa: ANN401
    """Parse JSON; anything that could not be written again is a ``ValueError`` that says why.

    Args:
        content: UTF-8.
        pairs: makes an object of its names and values, as in :func:`json.loads`; a dict by default.

    >>> parse_json(b'{"a": [1]}')
    {'a': [1]}
    >>> parse_json(b"[NaN]")
    Traceback (most recent call last):
    ValueError: it contains NaN
    """
    try:
        value = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse, object_pairs_hook=pairs)
        if _ESCAPED_SURROGATE.search(content):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except UnicodeEncodeError:
        raise ValueError("it contains a lone surrogate") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}, line {error.lineno}, column {error.colno}") from None
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            part
            for one in level
            if isinstance(one, dict | list)
            for part in (one.values() if isinstance(one, dict) else one)
            if isinstance(part, dict | list)
        ]
        if not level:
            return value
    raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it contains {constant}")
