"""Values of tables and datasets as JSON can hold them."""

import math
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any


def plain(value: Any) -> Any:  # noqa: ANN401 -- a cell
    """A cell as a value that JSON can hold; None for NaN, NaT and NA, and bytes as they are.

    >>> plain([date(2024, 1, 2), float("nan"), Decimal("1.5")])
    ['2024-01-02', None, 1.5]
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, date | time):  # timestamps too
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return plain(value.tolist())
    return value


def has_bytes(value: Any) -> bool:  # noqa: ANN401
    """Whether a plain value holds bytes, such as an image, which JSON cannot hold."""
    if isinstance(value, Mapping):
        return any(map(has_bytes, value.values()))
    if isinstance(value, list):
        return any(map(has_bytes, value))
    return isinstance(value, bytes | bytearray | memoryview)
