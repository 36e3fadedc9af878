"""Datasets of the library ``datasets``, which is not imported here: whoever has a dataset has imported it already."""

from collections.abc import Iterator
from typing import Any

from chamfer.data.plain import Cells
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
        cells = Cells("the dataset")
        for number, row in enumerate(dataset, 1):
            yield f"row {number}", cells.of(row, f"row {number}")

    return Records(rows(), dataset.column_names)  # None for some streams
