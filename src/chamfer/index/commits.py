"""What a writer does around the commit of an addition: the last check before it, and whether merging can wait."""

from collections.abc import Callable
from typing import NamedTuple


def _nothing() -> None:
    return None


class Commits(NamedTuple):
    """How a writer commits documents that it adds.

    Args:
        check: called right before documents are committed; an error that it raises leaves the index as it is.
        merges: whether small segments are merged right after the commit; if not, somebody does so later.
    """

    check: Callable[[], None] = _nothing
    merges: bool = True


USUAL = Commits()
