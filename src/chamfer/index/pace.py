"""What a writer does around the commit of an addition: the last check before it, and whether merging can wait."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from chamfer.errors import InputError


def _nothing() -> None:
    return None


class Pace(NamedTuple):
    """How a writer adds documents.

    Args:
        check: called right before documents are committed; an error that it raises leaves the index as it is.
        merges: whether small segments are merged right after the commit; if not, somebody does so later.
    """

    check: Callable[[], None] = _nothing
    merges: bool = True


AT_ONCE = Pace()


@contextmanager
def merging(folder: Path) -> Iterator[None]:
    """Log a failure to merge: the documents are committed, and the next addition tries again.

    Args:
        folder: folder of the index.
    """
    try:
        yield
    except (OSError, InputError) as error:
        logging.getLogger("chamfer").warning("segments of %s were not merged: %s", folder, error)
