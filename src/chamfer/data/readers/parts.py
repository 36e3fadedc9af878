"""What a file that is one document consists of."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Parts(NamedTuple):
    """Title, text and metadata."""

    title: str
    text: str
    metadata: Mapping[str, Any] = {}
