"""What a reader of a table gives."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from chamfer.errors import InputError


class Records(NamedTuple):
    """The rows of a table, or the objects of a list."""

    rows: Iterator[tuple[str, dict[str, Any]]]
    """Each with its origin for error messages; cells without a value are left out."""
    names: Sequence[str] | None = None
    """Names of all columns; None if each record has its own."""
    typed: bool = True
    """Whether values have types; in CSV all of them are text."""
    grouped: bool = False
    """Whether a point in a number may separate thousands."""


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse columns with the same name: one would hide the other."""
    name, times = next(iter(Counter(names).most_common(1)), ("", 0))
    if times > 1:
        raise InputError(f"{source} has {times} columns named {name!r}; rename all but one")
