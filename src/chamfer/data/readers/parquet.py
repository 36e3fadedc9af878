"""Parquet, some rows at a time. Needs the extra ``chamfer[parquet]``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chamfer.data.plain import Cells
from chamfer.data.records import Records, check_names
from chamfer.errors import InputError, first_line

# Most rows, and about how many bytes, are in memory at a time.
ROWS, BYTES = 1024, 1 << 20


def read_parquet(path: Path, name: str) -> Records:
    """Read a table. Nested columns become nested metadata."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise InputError(f"{name} is Parquet, which needs pyarrow; run: pip install 'chamfer[parquet]'") from error
    try:
        file = pq.ParquetFile(path, buffer_size=BYTES // 4, pre_buffer=False)
        names = list(file.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        raise _broken(name, error) from error
    check_names(names, name)

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        cells = Cells(name)
        number = 0
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1)
        size = int(min(ROWS, max(1, BYTES // max(1, widest))))
        batches = file.iter_batches(batch_size=size, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                found = batch.to_pylist()
            except MemoryError as error:
                raise InputError(
                    f"{name} does not fit into memory, row groups and all; write it with smaller row groups"
                ) from error
            except (pa.ArrowException, OSError, ValueError) as error:
                raise _broken(name, error) from error
            for row in found:
                number += 1
                where = f"{name}, row {number}"
                yield where, cells.of(row, where)

    return Records(rows(), names)


def _broken(name: str, error: Exception) -> InputError:
    return InputError(f"{name} cannot be read as Parquet ({first_line(error)}); write it again, or download it again")
