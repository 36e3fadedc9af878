"""Where the cache is."""

import os
from pathlib import Path


def default_cache() -> Path:
    """Folder ``chamfer`` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chamfer"
