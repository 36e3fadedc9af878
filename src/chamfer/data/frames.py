"""pandas DataFrames as records. pandas is not imported here: whoever has a DataFrame has imported it already."""

from collections.abc import Iterator
from typing import Any

from chamfer.data.plain import Cells, plain
from chamfer.data.records import Records, check_names


def is_frame(source: object) -> bool:
    """Whether something is a pandas DataFrame."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def rows_of(frame: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 -- a DataFrame
    """Each row as a dict of plain Python values, with its label for error messages; missing values are left out."""
    for where, row in _rows(frame):
        cells = ((name, plain(value)) for name, value in row.items())
        yield where, {name: value for name, value in cells if value is not None}


def records_of(frame: Any) -> Records:  # noqa: ANN401 -- a DataFrame
    """The rows of a DataFrame of documents; an index with a name is a column."""
    if frame.index.name is not None and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    check_names(names, "the DataFrame")
    cells = Cells("the DataFrame")
    return Records(((where, cells.of(row, where)) for where, row in _rows(frame)), names)


def _rows(frame: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 -- a DataFrame
    names = [str(name) for name in frame.columns]
    for label, values in zip(frame.index, frame.itertuples(index=False, name=None), strict=True):
        yield f"row {label}", dict(zip(names, values, strict=True))
