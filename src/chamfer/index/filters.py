"""Filters over metadata: ``year > 2020 and lang = 'en'``.

    comparison  = name ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") value
                | name ["not"] "in" "(" value {"," value} ")"            or "[" value {"," value} "]"
                | name ["not"] "like" text          % matches any characters, _ one; a matches A, but ä does not match Ä
                | name "is" ["not"] "null"
    filter      = comparison | "not" filter | filter "and" filter | filter "or" filter | "(" filter ")"
    name        = year | author.name | "any characters"
    value       = 3 | -2.5 | 1e6 | 'it''s text' | "text" | true | false

A comparison is true for a document if it is true for any of the field's values. Numbers, texts and booleans are never
equal to each other and have no order. For a document without the field, every comparison is false, and so is its
negation; only ``is null`` is true.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, NoReturn

from chamfer.errors import InputError
from chamfer.index.fields import DEEPEST, Value, kept_as, short, storable
from chamfer.index.filter_errors import (
    AFTER_EQUAL,
    COMPARING,
    FIELD_FIRST,
    JOINING,
    NOTHING,
    NULL,
    UNUSUAL,
    at_position,
    bare,
    quoted,
    split_number,
)

# What people write stays far below.
LONGEST = 10_000
MOST_COMPARISONS = 250

_TOKENS = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?![\w.+-]))
      | (?P<word>[^\W\d]\w*(?:\.\w+)*)
      | (?P<text>'(?:[^']|'')*+')
      | (?P<name>"(?:[^"]|"")*+")
      | (?P<symbol><=|>=|<>|!=|==|&&|\|\||[=<>(),\[\]&|!;])
      | (?P<unclosed>['"].*)
      | (?P<unknown>[^\s'"=<>(),\[\]&|!;]+)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = {"and", "or", "not", "in", "is", "like", "null", "true", "false"}
_CLOSING = {"(": ")", "[": "]"}
_OPERATORS = {"=": "=", "==": "=", "!=": "=", "<>": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "like": "LIKE"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field compared with one value or, with ``IN``, with several of one kind."""

    name: str
    kind: str
    operator: str
    values: tuple[Value, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """Documents that lack a field or, negated, have it."""

    name: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """Several conditions, of which all must hold, or any."""

    by: Literal["and", "or"]
    parts: tuple["Node", ...]


Node = Comparison | Missing | Joined


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter; see :func:`parse_filter`.

    Args:
        root: its tree of comparisons.
        seconds: time limit for finding the documents that pass; None for no limit.
    """

    root: Node
    seconds: float | None = None

    def compared(self) -> list[tuple[str, str | None]]:
        """Each field that the filter names, with the kind of value that it is compared with; None for ``is null``."""
        return list(dict.fromkeys(_compared(self.root)))


def _compared(node: Node) -> Iterator[tuple[str, str | None]]:
    match node:
        case Joined():
            for part in node.parts:
                yield from _compared(part)
        case Missing():
            yield node.name, None
        case Comparison():
            yield node.name, node.kind


class SlowFilterError(InputError):
    """A filter took longer than its time limit."""


def parse_filter(
    text: str, *, comparisons: int = MOST_COMPARISONS, pattern: int = LONGEST, seconds: float | None = None
) -> Filter:
    """Parse a filter; a syntax error is a :class:`FilterSyntaxError`, which names and shows the position.

    Args:
        text: the filter.
        comparisons: largest number of comparisons.
        pattern: largest number of characters in a pattern of ``like``.
        seconds: time limit for finding the documents that pass; none by default.

    >>> parse_filter("year > 2020 and not lang in ('en', 'de')").compared()
    [('year', 'number'), ('lang', 'text')]
    >>> try:
    ...     parse_filter("lang = en")
    ... except InputError as error:
    ...     print(error)
    a filter needs a value at position 8, not en; put strings in quotes: 'en'
    """
    if not text.strip():
        raise InputError("a filter needs a comparison, such as year > 2020; leave it out to search all documents")
    if len(text) > LONGEST:
        raise InputError(f"a filter may have at most {LONGEST} characters, not {len(text)}; add a field for it")
    return Filter(_Parser(text, comparisons, pattern).whole(), seconds)


@lru_cache(maxsize=64)
def as_filter(where: str | None) -> Filter | None:
    """Parse a filter, if there is one; one that was checked before is not parsed again."""
    return None if where is None else parse_filter(where)


class _Token(NamedTuple):
    kind: str  # number, text, name, word, keyword, symbol, unclosed, unknown or end
    text: str  # as written; keywords in lower case
    position: int  # counted from 1


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKENS.finditer(text):
        kind, said = str(match.lastgroup), match.group()
        if kind == "word" and said.lower() in _KEYWORDS:
            kind, said = "keyword", said.lower()
        if kind != "space":
            yield _Token(kind, said, match.start() + 1)
    yield _Token("end", "", len(text) + 1)


class _Parser:
    """A recursive descent parser, which pushes ``not`` down to the comparisons (De Morgan)."""

    def __init__(self, text: str, comparisons: int, pattern: int) -> None:
        self._text, self._tokens = text, list(_tokens(text))
        self._most, self._longest = comparisons, pattern
        self._place = 0
        self._depth = 0
        self._comparisons = 0

    def whole(self) -> Node:
        node = self._any(negated=False)
        if self._next.kind != "end":
            self._fail("'and', 'or' or its end", self._joining_hint())
        return node

    def _any(self, *, negated: bool) -> Node:
        parts = [self._all(negated=negated)]
        while self._took("or"):
            parts.append(self._all(negated=negated))
        return _either(parts, negated=negated)

    def _all(self, *, negated: bool) -> Node:
        parts = [self._one(negated=negated)]
        while self._took("and"):
            parts.append(self._one(negated=negated))
        return _either(parts, negated=not negated)

    def _one(self, *, negated: bool) -> Node:
        while self._took("not"):
            negated = not negated
        start = self._next.position
        if not self._took("("):
            return self._comparison(negated=negated)
        self._depth += 1
        if self._depth > DEEPEST:
            told = f"a filter may nest at most {DEEPEST} parentheses, but opens another at position {start}; flatten it"
            raise at_position(told, self._text, start)
        node = self._any(negated=negated)
        if not self._took(")"):
            self._fail(f"'and', 'or' or the ')' for position {start}", self._joining_hint())
        self._depth -= 1
        return node

    def _comparison(self, *, negated: bool) -> Node:
        self._comparisons += 1
        if self._comparisons > self._most:
            start = self._next.position
            told = (
                f"a filter may have at most {self._most} comparisons, but another begins at position {start}; "
                "write 'field in (a, b)' for many values"
            )
            raise at_position(told, self._text, start)
        name = self._name()
        if self._took("is"):
            present = self._took("not")
            if not self._took("null"):
                hint = "write 'null'" if self._next.text.lower() in NOTHING else f"write {'!=' if present else '='}"
                self._fail("'null'" if present else "'null' or 'not null'", hint)
            return Missing(name, negated != present)
        if self._took("not"):
            negated = not negated
            if self._next.text not in ("in", "like"):
                self._fail("'in' or 'like'", "write !=" if self._next.text in ("=", "==") else "")
        if self._took("in"):
            values = list(self._list())
            parts = [
                Comparison(name, kind, "IN", tuple(value for other, value in values if other == kind), negated)
                for kind in sorted({kind for kind, _ in values})
            ]
            return _either(parts, negated=negated)
        operator, start = self._operator(), self._next.position
        kind, value = self._value(operator)
        if operator == "like" and len(str(value)) > self._longest:
            told = (
                f"a pattern may have at most {self._longest} characters, but that at position {start} has "
                f"{len(str(value))}; look for a shorter part of the text"
            )
            raise at_position(told, self._text, start)
        return Comparison(name, kind, _OPERATORS[operator], (value,), negated != (operator in ("!=", "<>")))

    def _operator(self) -> str:
        kind, said, _ = self._next
        if said not in _OPERATORS:
            unusual = UNUSUAL if kind in ("unknown", "word", "name") or said == "[" else ""
            self._fail("a comparison (=, !=, <, <=, >, >=, in, like, is)", COMPARING.get(said.lower(), unusual))
        self._place += 1
        if said == "like" and self._next.kind not in ("text", "name"):
            self._fail("a pattern in quotes")
        return said

    def _name(self) -> str:
        kind, said, _ = self._next
        if kind not in ("word", "name"):
            if kind == "number" or (kind == "text" and self._tokens[self._place + 1].text in ("in", "like")):
                self._fail("the name of a field", FIELD_FIRST)
            other = kind in ("keyword", "text", "unknown")
            hint = f'{UNUSUAL}: "{bare(said)}"' if other else "write 'not'" if said == "!" else ""
            self._fail("the name of a field", hint)
        self._place += 1
        return storable(said if kind == "word" else said[1:-1].replace('""', '"'))

    def _list(self) -> Iterator[tuple[str, Value]]:
        closing = _CLOSING.get(self._next.text)
        if closing is None:
            kind, said, _ = self._next
            first = {"text": said, "name": said, "number": said, "word": quoted(self._rest)}.get(kind)
            self._fail("'(' and a list of values", f"write in ({first}, …)" if first else "")
        self._place += 1
        yield self._value()
        while self._took(","):
            yield self._value()
        if not self._took(closing):
            self._fail(f"',' or '{closing}'")

    def _value(self, after: str = "") -> tuple[str, Value]:
        kind, said, _ = self._next
        value: Value
        if kind in ("text", "name"):
            value = said[1:-1].replace(said[0] * 2, said[0])
        elif kind == "number":
            # Python does not parse integers with thousands of digits; beyond 64 bits they are rounded to floats anyway.
            value = int(said) if len(said) < 30 and said.lstrip("+-").isdigit() else float(said)
        elif said in ("true", "false"):
            value = said == "true"
        elif said.lower() in NOTHING:
            self._fail("a value", NULL)
        elif kind in ("word", "unknown"):
            self._fail("a value", f"put strings in quotes: {quoted(self._rest)}")
        else:
            self._fail("a value", AFTER_EQUAL.get(said, "") if after in ("=", "==") else "")
        kept = kept_as(value)
        if kept is None:
            self._fail("a number below 1.8e308")
        self._place += 1
        return kept

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _took(self, text: str) -> bool:
        """Consume a keyword or symbol if it comes next. Quoted text still has its quotes, so it never matches."""
        found = self._next.text == text
        self._place += found
        return found

    @property
    def _rest(self) -> str:
        return self._text[self._next.position - 1 :]

    def _joining_hint(self) -> str:
        before, (_, said, position) = self._tokens[self._place - 1], self._next
        if before.kind in ("text", "name") and before.text[-2:-1] == "\\":
            return f"write {2 * before.text[0]} for a quote inside a string"
        if said == ";" and self._tokens[self._place + 1].kind == "end":
            return "leave it out"
        if said == "," and before.kind == "number":
            return split_number(self._text, position) or JOINING[said]
        return JOINING.get(said.lower(), "")

    def _fail(self, expected: str, hint: str = "") -> NoReturn:
        kind, said, position = self._next
        found = (
            "but the filter ends there" if kind == "end" else f"not {short(said) if said not in ',;' else repr(said)}"
        )
        hint = f"close the quote with another {said[0]}" if kind == "unclosed" else hint
        told = f"a filter needs {expected} at position {position}, {found}{'; ' if hint else ''}{hint}"
        raise at_position(told, self._text, position)


def _either(parts: Sequence[Node], *, negated: bool) -> Node:
    """Any of the parts or, if they are negated, all of them."""
    return parts[0] if len(parts) == 1 else Joined("and" if negated else "or", tuple(parts))
