"""Values of tables and datasets as JSON can hold them."""

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from chamfer.data.reading import note
from chamfer.errors import InputError


class Cells:
    """Makes the cells of each row plain, and says once which columns are left out.

    Args:
        source: the source, for messages.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._without: set[str] = set()

    def of(self, row: Mapping[Any, Any], where: str) -> dict[str, Any]:
        """The cells that have a value. Columns of bytes, such as images, are left out; other types are an error."""
        cells = {}
        for column, value in row.items():
            name, cell = str(column), plain(value)
            other = _unstorable(cell)
            if other in BYTES:
                if name not in self._without:
                    self._without.add(name)
                    note(
                        f"{self._source}: column {name!r} holds bytes, which are neither text nor metadata, and is "
                        "left out"
                    )
            elif other:
                raise InputError(
                    f"{where}: column {name!r} holds a value of type {other}, which metadata cannot hold; write it as "
                    "text, or remove the column"
                )
            elif cell is not None:
                cells[name] = cell
        return cells


BYTES = ("bytes", "bytearray", "memoryview")


def plain(value: Any) -> Any:  # noqa: ANN401 -- a cell
    """A cell as a value that JSON can hold; None for NaN, NaT and NA, and what JSON cannot hold as it is.

    Dates and times become text in an order that filters can compare: midnight is the date alone, whatever the other
    times of its column, and times with a zone are those of UTC.

    >>> plain([date(2024, 1, 2), datetime(2024, 1, 2), datetime(2024, 1, 2, 8, 30), float("nan"), Decimal("1.5")])
    ['2024-01-02', '2024-01-02', '2024-01-02T08:30:00', None, 1.5]
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, datetime):  # pandas' timestamps, too
        return _moment(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None if value.is_nan() else value
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return plain(value.tolist())
    return value


def _moment(value: datetime) -> str:
    if value.tzinfo is not None:
        try:
            return value.astimezone(UTC).isoformat()
        except OverflowError:  # within a day of the first or the last moment that there is
            return value.isoformat()
    midnight = value.time() == time() and not getattr(value, "nanosecond", 0)
    return value.date().isoformat() if midnight else value.isoformat()


def _unstorable(value: Any) -> str:  # noqa: ANN401
    """The type of a part of a plain value that JSON cannot hold; empty without one."""
    if value is None or isinstance(value, str | bool | int):
        return ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"float ({value})"
    if isinstance(value, Mapping):
        return next(filter(None, map(_unstorable, value.values())), "")
    if isinstance(value, list):
        return next(filter(None, map(_unstorable, value)), "")
    return f"Decimal ({value})" if isinstance(value, Decimal) else type(value).__name__
