"""What an index says of a metadata field: its kind, how many documents have it, and its most frequent values."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from chamfer.errors import InputError
from chamfer.index.fields import BOOLEAN, DATE, NUMBER, TEXT, Value
from chamfer.index.tallies import MOST_VALUES, FieldTally, Tally

MOST_LISTED = 100
"""Largest number of fields that are listed."""

LISTED_VALUES, SERVED_VALUES = 20, 100
"""Number of values that are listed of a field by default, and the largest one that a request to a server may name."""

Kind = Literal["text", "date", "number", "boolean", "mixed"]

# Values of several kinds that are equally frequent are listed in this order, as each kind has an order of its own.
ORDER = (NUMBER, BOOLEAN, DATE, TEXT)


class FieldValue(NamedTuple):
    """A value of a metadata field."""

    value: Value
    """The value: a string, a number or a boolean."""
    documents: int
    """Number of documents that have it."""


class Field(NamedTuple):
    """A metadata field of an index, as filters see it."""

    name: str
    """Its name; those of nested objects are joined by dots."""
    kind: Kind
    """``text``; ``date``, if every value is a day such as ``2024-01-02``, with or without a time; ``number``;
    ``boolean``; or ``mixed``."""
    documents: int
    """Number of documents that have it."""
    several: bool
    """Whether some documents have several values, as in a list."""
    distinct: int
    """Number of distinct values."""
    exact: bool
    """Whether ``distinct`` is exact; otherwise there are at least that many."""
    values: tuple[FieldValue, ...]
    """The most frequent values, ties in order of value. Those that are rarer than a value that was not counted are left
    out, and so are all values of a field in which every document has another one."""
    lowest: Value | None
    """The lowest number or date; None for other kinds."""
    highest: Value | None
    """The highest number or date; None for other kinds."""


class Fields(list[Field]):
    """The metadata fields of an index, the most frequent one first.

    Args:
        fields: the fields.
        complete: whether they are all; at most 100 are listed.
    """

    def __init__(self, fields: Iterable[Field] = (), *, complete: bool = True) -> None:
        super().__init__(fields)
        self.complete = complete


def checked_count(values: object, most: int = MOST_VALUES) -> int:
    """A number of values that can be listed, or an error that states the rule."""
    if isinstance(values, bool) or not isinstance(values, int) or not 0 <= values <= most:
        raise InputError(f"values must be from 0 to {most:,}, not {values!r}")
    return values


def fields_of_tally(tally: Tally, values: int = LISTED_VALUES) -> Fields:
    """The fields of a tally, the most frequent one first, ties in order of name.

    Args:
        tally: the tally.
        values: number of values of each field.
    """
    known = {name: one for name, one in tally.fields.items() if one.documents > tally.unlisted}
    order = sorted(known, key=lambda name: (-known[name].documents, name))
    complete = not tally.unlisted and len(order) <= MOST_LISTED
    return Fields((_field(name, known[name], values) for name in order[:MOST_LISTED]), complete=complete)


def _field(name: str, tally: FieldTally, values: int) -> Field:
    kinds = tally.kinds
    kind = _kind(set(kinds))
    range_of = kinds.get(kind)
    counted = [
        (-documents, ORDER.index(of), value)
        for of, one in kinds.items()
        for value, documents in one.values.listed.items()
        if documents > max(other.values.unlisted for other in kinds.values())
    ]
    return Field(
        name,
        kind,
        tally.documents,
        tally.several,
        sum(one.distinct for one in kinds.values()),
        all(one.exact for one in kinds.values()),
        tuple(
            FieldValue(bool(value) if ORDER[of] == BOOLEAN else value, -negative)
            for negative, of, value in sorted(counted)[:values]  # within a kind, values can be compared
        ),
        None if range_of is None else range_of.lowest,
        None if range_of is None else range_of.highest,
    )


def _kind(kinds: set[str]) -> Kind:
    """The kind of a field whose values have some kinds; a date is text, too."""
    match sorted(kinds):
        case ["text"] | ["date", "text"]:
            return "text"
        case ["date"]:
            return "date"
        case ["number"]:
            return "number"
        case ["boolean"]:
            return "boolean"
    return "mixed"
