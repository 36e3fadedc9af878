"""Jobs over tables, and workers that run them: this process, or a Ray cluster."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from chamfer.support.progress import Advance, ignore

Table = dict[str, list[Any]]
"""Columns of equal length by name, of strings, numbers, bytes or lists of these: what an Arrow table can hold."""


def empty_table(columns: Iterable[str]) -> Table:
    """A table with the given columns and no rows."""
    return {name: [] for name in columns}


def rows(table: Table, columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, each as its values in the given columns."""
    return zip(*(table[name] for name in columns), strict=True)


def add_row(table: Table, *values: Any) -> None:  # noqa: ANN401 -- one for each column
    """Add a row, with a value for each column."""
    for column, value in zip(table.values(), values, strict=True):
        column.append(value)


class Job(Protocol):
    """A stateless function from one table to another; its results do not depend on where or in what order it runs.

    A job is pickled once and sent to all workers. Large objects (a model, a corpus on disk) are pickled as a name, and
    each worker opens them itself.
    """

    def __call__(self, table: Table, advance: Advance) -> Table:
        """Process one table, and report progress."""
        ...


class Workers(Protocol):
    """Runs a job over tables."""

    at_once: int
    """Number of tables processed concurrently; 1 in this process, where a job itself uses all cores."""

    def map(
        self, job: Job, tables: Iterable[Table], *, advance: Advance = ignore, gpu: bool = False
    ) -> Iterator[Table]:
        """The job's result for each table, in the order of the tables, as soon as it is ready.

        Args:
            job: job to run.
            tables: tables to process; none is split or merged.
            advance: progress callback.
            gpu: whether each worker should get a GPU of its own, if there are any.
        """
        ...


class InProcess:
    """Runs jobs in this process, one table after the other, each when its result is requested."""

    at_once = 1

    def map(
        self, job: Job, tables: Iterable[Table], *, advance: Advance = ignore, gpu: bool = False
    ) -> Iterator[Table]:
        """See :meth:`Workers.map`."""
        for table in tables:
            yield job(table, advance)


IN_PROCESS: Workers = InProcess()
