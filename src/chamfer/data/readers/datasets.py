"""Datasets of the library ``datasets``, which is not imported here: whoever has a dataset has imported it already."""

from collections.abc import Iterator
from typing import Any

from chamfer.data.plain import has_bytes, plain
from chamfer.data.records import Records
from chamfer.errors import InputError


def is_dataset(source: object) -> bool:
    """Whether something is a dataset of ``datasets``, or a dict of its splits."""
    return any(kind.__module__.partition(".")[0] == "datasets" for kind in type(source).__mro__)


def read_dataset(dataset: Any) -> Records:  # noqa: ANN401 -- a Dataset or an IterableDataset
    """Read a dataset row by row; a streamed one is read once."""
    if isinstance(dataset, dict):
        raise InputError(f"the dataset has the splits {', '.join(map(repr, dataset))}; choose one of them")

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        for number, row in enumerate(dataset, 1):
            cells = {str(name): plain(value) for name, value in row.items()}
            unusable = [name for name, value in cells.items() if has_bytes(value)]
            if unusable:
                raise InputError(f"row {number}: {unusable[0]!r} holds bytes, which metadata cannot; remove the column")
            yield f"row {number}", {name: value for name, value in cells.items() if value is not None}

    return Records(rows(), dataset.column_names)  # None for some streams
