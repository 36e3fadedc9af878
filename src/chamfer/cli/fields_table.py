"""The metadata fields of an index in the terminal, after ``chamfer index info``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from chamfer.cli.terminal import results, say
from chamfer.errors import InputError

if TYPE_CHECKING:
    from chamfer.index.field_counts import Field, Fields, FieldValue
    from chamfer.index.index import Index

SHOWN_VALUES, SHOWN_CHARACTERS = 5, 30
"""Values of a field that are shown, and characters of each."""


def fields_of(index: "Index", documents: int) -> "Fields | None":
    """The fields of an index; None with a note if its documents cannot be read, which does not hide the other facts.

    Args:
        index: the index.
        documents: number of its documents; of none, no field is known.
    """
    try:
        return index.fields() if documents else None
    except (InputError, OSError) as error:
        say(f"note: the metadata fields are not shown: {error}")
        return None


def as_json(fields: "Sequence[Field]") -> list[dict[str, Any]]:
    """Fields as ``json.dumps`` accepts them."""
    return [one._asdict() | {"values": [value._asdict() for value in one.values]} for one in fields]


def print_fields(fields: "Fields") -> None:
    """Print a line for each field."""
    shown = Table(box=None, pad_edge=False)
    for name in ("field", "kind"):
        shown.add_column(name)
    for name in ("documents", "values"):
        shown.add_column(name, justify="right")
    for name in ("range", "most frequent"):
        shown.add_column(name)
    for one in fields:
        shown.add_row(
            escape(one.name),
            f"{one.kind}, several" if one.several else one.kind,
            f"{one.documents:,}",
            f"{one.distinct:,}" if one.exact else f"{one.distinct:,} or more",
            "" if one.lowest is None else f"{one.lowest} to {one.highest}",
            escape(" · ".join(map(_spelt, one.values[:SHOWN_VALUES]))),
        )
    results.print()
    results.print(shown)
    if not fields.complete:
        results.print("and fields that fewer documents have")


def _spelt(one: "FieldValue") -> str:
    value = str(one.value).lower() if isinstance(one.value, bool) else str(one.value)
    value = value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}…"
    return f"{value if value.isprintable() else ascii(value)} {one.documents:,}"
