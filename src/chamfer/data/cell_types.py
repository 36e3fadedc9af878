"""The types of columns that a file stores as text."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["integer", "float", "boolean", "text"]

# Numbers as programs write them. Leading zeros, plus signs, spaces and thousands separators are those of zip codes,
# telephone numbers and the like, or can mean two things, and stay text; so does an exponent with neither a point nor a
# sign, as in 1E5.
INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
FLOAT = re.compile(r"-?(0|[1-9][0-9]{0,17})(?:\.([0-9]+)(?:[eE][+-]?[0-9]{1,2})?|[eE][+-][0-9]{1,2})")
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# How a missing value is written in any column, and in one of numbers or booleans; in texts, NA can be Namibia.
MISSING, MISSING_NUMBERS = ("NaN", "nan"), ("NaN", "nan", "NA")


class CellTypes:
    """Looks at all values of each column, and then knows the type that fits all of them.

    Args:
        grouped: whether a point may separate thousands, as in 1.234, because the file comes from where a comma is the
            decimal point.

    >>> types = CellTypes()
    >>> for year, zip_code in (("2021", "01067"), ("NaN", "80331")):
    ...     types.look({"year": year, "zip": zip_code})
    >>> types.typed({"year": "2021", "zip": "80331"})
    {'year': 2021, 'zip': '80331'}
    """

    def __init__(self, *, grouped: bool = False) -> None:
        self._columns: dict[str, _Column] = {}
        self._kinds: dict[str, Kind | None] | None = None
        self._grouped = grouped

    @property
    def kinds(self) -> Mapping[str, Kind | None]:
        """The type of each column; None without any value."""
        if self._kinds is None:
            self._kinds = {
                name: "text" if self._unclear(column) else column.kind for name, column in self._columns.items()
            }
        return self._kinds

    @property
    def notes(self) -> list[str]:
        """A sentence for each column of numbers that stays text, because its numbers may be something else."""
        return [
            f"column {name!r} stays text, because {unclear}"
            for name, column in self._columns.items()
            if (unclear := self._unclear(column))
        ]

    def look(self, cells: Mapping[str, Any]) -> None:
        """Look at one more row."""
        self._kinds = None
        for name, value in cells.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column()
            if column.kind != "text" and value not in MISSING_NUMBERS:
                column.look(value)

    def typed(self, cells: Mapping[str, Any]) -> dict[str, Any]:
        """The cells of a row in the types of their columns; missing values are left out."""
        return dict(self._typed(cells.items()))

    def _typed(self, cells: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
        kinds = self.kinds
        for name, value in cells:
            kind = kinds.get(name)
            if value in (MISSING if kind in (None, "text") else MISSING_NUMBERS):
                continue
            if kind == "boolean":
                yield name, BOOLEANS[value]
            elif kind in ("integer", "float"):
                yield name, _number(value)
            else:
                yield name, value

    def _unclear(self, column: "_Column") -> str:
        """Why a column of numbers may hold something else; empty if it does not."""
        if column.kind != "float":
            return ""
        if column.padded and len(column.decimals) > 1:
            return f"its numbers may be versions: {column.padded!r} is not the same as {_number(column.padded)!r}"
        if self._grouped and column.decimals == {3} and column.short:
            return "a point with three digits after it can be a decimal point, or separate thousands"
        return ""


@dataclass(slots=True)
class _Column:
    """What is known of the values of a column."""

    kind: Kind | None = None
    decimals: set[int] = field(default_factory=set)
    """Numbers of digits after the point."""
    padded: str = ""
    """A number with a zero at its end that a program would not write, such as 1.10."""
    short: bool = True
    """Whether one to three digits and no leading zero are before the point, as in thousands."""

    def look(self, value: Any) -> None:  # noqa: ANN401 -- a cell
        kind = _kind(value)
        if kind != self.kind:
            self.kind = kind if self.kind is None else _wider(self.kind, kind)
        if kind == "float":
            found = FLOAT.fullmatch(value)
            whole, digits = found.groups() if found else ("", None)
            self.decimals.add(len(digits or ""))
            self.short &= len(whole) <= 3 and whole != "0"
            if digits and len(digits) > 1 and value.endswith("0"):
                self.padded = value


def typed_alone(text: str) -> str | int | float | bool | None:
    """A value without a column to compare it with: a number only if it is written as Python would write it.

    >>> [typed_alone(text) for text in ("2021", "1.5", "1.10", "007", "true", "NO", "NaN")]
    [2021, 1.5, '1.10', '007', True, 'NO', None]
    """
    if text in MISSING:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    if _kind(text) == "text":
        return text
    number = _number(text)
    return number if repr(number) == text else text


def _kind(value: Any) -> Kind:  # noqa: ANN401 -- a cell
    if not isinstance(value, str):
        return "text"
    if INTEGER.fullmatch(value):
        return "integer"
    if FLOAT.fullmatch(value):
        return "float"
    return "boolean" if value in BOOLEANS else "text"


def _number(value: str) -> int | float:
    return int(value) if INTEGER.fullmatch(value) else float(value)


def _wider(one: Kind | None, another: Kind) -> Kind:
    return "float" if {one, another} == {"integer", "float"} else "text"
