"""Who does work that comes in parts: this process, or the workers of a Ray cluster."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from chamfer.support.progress import Advance, ignore

Table = dict[str, list[Any]]
"""Columns of one length by name, of texts, numbers, bytes or lists of these: what an Arrow table holds."""


def add_row(table: Table, *values: Any) -> None:  # noqa: ANN401 -- one for each column
    """Add a value to each column."""
    for column, value in zip(table.values(), values, strict=True):
        column.append(value)


class Job(Protocol):
    """One step of work over tables, without memory of earlier ones: who does it, and in which order, changes nothing.

    A job that is sent to a worker is pickled once. What is large (a model, a corpus on disk) travels by name and is
    opened there.
    """

    def __call__(self, table: Table, advance: Advance) -> Table:
        """Turn one table into another, and tell of what is done."""
        ...


class Workers(Protocol):
    """Somebody who works through tables."""

    at_once: int
    """How many tables are worked on at a time; 1 in this process, where a job itself uses all cores."""

    def map(
        self, job: Job, tables: Iterable[Table], *, advance: Advance = ignore, gpu: bool = False
    ) -> Iterator[Table]:
        """What the job makes of each table, in their order, as soon as it is there.

        Args:
            job: the work.
            tables: the parts; which rows are together in one is the caller's choice and stays as it is.
            advance: told of what is done.
            gpu: whether a worker should have a GPU of its own, where there are some.
        """
        ...


class InProcess:
    """Works here, one table after the other; nothing is done before it is asked for."""

    at_once = 1

    def map(
        self, job: Job, tables: Iterable[Table], *, advance: Advance = ignore, gpu: bool = False
    ) -> Iterator[Table]:
        """See :meth:`Workers.map`."""
        for table in tables:
            yield job(table, advance)


IN_PROCESS: Workers = InProcess()
