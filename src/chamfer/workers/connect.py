"""Workers by address: this process, or a Ray cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from chamfer.workers.jobs import IN_PROCESS, Workers


@contextmanager
def workers_at(address: str | None) -> Iterator[Workers]:
    """Workers at an address: this process if None, a new Ray cluster on this machine if ``local``, else that cluster.

    >>> from chamfer.support.progress import Advance
    >>> from chamfer.workers.jobs import Table
    >>> def double(table: Table, advance: Advance) -> Table:
    ...     return {"twice": [2 * number for number in table["number"]]}
    >>> with workers_at(None) as workers:
    ...     list(workers.map(double, [{"number": [1, 2]}, {"number": [3]}]))
    [{'twice': [2, 4]}, {'twice': [6]}]
    """
    if address is None:
        yield IN_PROCESS
        return
    from chamfer.workers.ray_driver import ray_workers  # imported here: Ray is an extra and takes seconds to import

    with ray_workers(address) as workers:
        yield workers
