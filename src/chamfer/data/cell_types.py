"""The types of columns that a file stores as text."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Kind = Literal["integer", "float", "boolean", "text"]

# Numbers as programs write them. Leading zeros, plus signs, spaces and thousands separators are those of zip codes,
# telephone numbers and the like, or can mean two things, and stay text; so does an exponent without a point, as in 1E5.
INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
FLOAT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]+(?:[eE][+-]?[0-9]{1,2})?")
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# How missing numbers are written; in a column of texts, it is a text.
MISSING = ("NaN", "nan")


class CellTypes:
    """Looks at all values of each column, and then knows the type that fits all of them.

    >>> types = CellTypes()
    >>> for year, zip_code in (("2021", "01067"), ("NaN", "80331")):
    ...     types.look({"year": year, "zip": zip_code})
    >>> types.typed({"year": "2021", "zip": "80331"})
    {'year': 2021, 'zip': '80331'}
    """

    def __init__(self) -> None:
        self._kinds: dict[str, Kind | None] = {}

    @property
    def kinds(self) -> Mapping[str, Kind | None]:
        """The type of each column; None without any value."""
        return self._kinds

    def look(self, cells: Mapping[str, Any]) -> None:
        """Look at one more row."""
        for name, value in cells.items():
            before = self._kinds.get(name)
            if before != "text" and value not in MISSING:
                kind = _kind(value)
                self._kinds[name] = kind if before in (None, kind) else _wider(before, kind)

    def typed(self, cells: Mapping[str, Any]) -> dict[str, Any]:
        """The cells of a row in the types of their columns; missing numbers are left out."""
        return dict(self._typed(cells.items()))

    def _typed(self, cells: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
        for name, value in cells:
            kind = self._kinds.get(name)
            if kind == "boolean" and value in BOOLEANS:
                yield name, BOOLEANS[value]
            elif kind in ("integer", "float"):
                if value not in MISSING:
                    yield name, int(value) if INTEGER.fullmatch(value) else float(value)
            else:
                yield name, value


def _kind(value: Any) -> Kind:  # noqa: ANN401 -- a cell
    if not isinstance(value, str):
        return "text"
    if INTEGER.fullmatch(value):
        return "integer"
    if FLOAT.fullmatch(value):
        return "float"
    return "boolean" if value in BOOLEANS else "text"


def _wider(one: Kind | None, another: Kind) -> Kind:
    return "float" if {one, another} == {"integer", "float"} else "text"
