"""pandas DataFrames as records. pandas is not imported here: whoever has a DataFrame has imported it already."""

import math
from collections.abc import Iterator
from datetime import date
from typing import Any


def is_frame(source: object) -> bool:
    """Whether something is a pandas DataFrame."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def rows_of(frame: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 -- a DataFrame
    """Each row as a dict of plain Python values, with its label for error messages; missing values are left out."""
    names = [str(name) for name in frame.columns]
    for label, values in zip(frame.index, frame.itertuples(index=False, name=None), strict=True):
        plain = ((name, _plain(value)) for name, value in zip(names, values, strict=True))
        yield f"row {label}", {name: value for name, value in plain if value is not None}


def _plain(value: Any) -> Any:  # noqa: ANN401 -- a cell
    """A cell as a value that JSON can hold; None for NaN, NaT and NA."""
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, date):  # timestamps too
        return value.isoformat()
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return value.tolist()
    return value
