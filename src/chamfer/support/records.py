"""Dataclasses and named tuples from JSON, refused unless every value has the type that is declared for it."""

import dataclasses
import re
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")

# Half a character, which can be neither printed nor part of a file name.
SURROGATE = re.compile("[\ud800-\udfff]")


def from_json(kind: type[Record], value: object) -> Record:
    """Make a record from what :func:`dataclasses.asdict` and ``json.dumps`` made of one.

    A dataclass is an object in JSON with all of its fields, a named tuple or a tuple a list. A wrong value is a
    ``ValueError`` that says where it is.

    >>> from typing import NamedTuple
    >>> class File(NamedTuple):
    ...     name: str
    ...     bytes: int
    >>> from_json(File, ["a", 1])
    File(name='a', bytes=1)
    >>> from_json(File, ["a", True])
    Traceback (most recent call last):
    ValueError: bytes must be int, not True
    """
    made: Record = _made(kind, value, "")
    return made


def need(holds: object, rule: str) -> None:
    """A ``ValueError`` that states the rule, unless it holds."""
    if not holds:
        raise ValueError(rule)


def _made(kind: Any, value: Any, at: str) -> Any:  # noqa: ANN401 -- types and JSON
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is UnionType:  # of one type and None
        [some] = (one for one in inner if one is not NoneType)
        return None if value is None else _made(some, value, at)
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    if origin is Mapping and isinstance(value, dict):
        return {key: _made(inner[1], each, _inside(at, key)) for key, each in value.items()}
    if origin is tuple and isinstance(value, list):
        kinds = [inner[0]] * len(value) if inner[1:] == (...,) else inner
        if len(kinds) == len(value):
            return tuple(
                _made(one, each, _inside(at, n)) for n, (one, each) in enumerate(zip(kinds, value, strict=True))
            )
    fields = _fields(kind)
    if dataclasses.is_dataclass(kind) and isinstance(value, dict) and value.keys() == fields.keys():
        make: Any = kind
        return make(**{name: _made(fields[name], each, _inside(at, name)) for name, each in value.items()})
    if hasattr(kind, "_fields") and isinstance(value, list) and len(value) == len(fields):
        return kind(
            *(_made(one, each, _inside(at, name)) for (name, one), each in zip(fields.items(), value, strict=True))
        )
    if type(value) is kind and not (kind is str and SURROGATE.search(value)):  # True is not an int
        return value
    wanted = f"have {', '.join(fields)}" if fields else f"be {getattr(kind, '__name__', kind)}"
    raise ValueError(f"{at or 'it'} must {wanted}, not {_short(value)}")


@cache
def _fields(kind: Any) -> dict[str, Any]:  # noqa: ANN401 -- types
    return get_type_hints(kind) if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields") else {}


def _inside(at: str, part: object) -> str:
    return f"{at}.{part}" if at else str(part)


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
