"""Qdrant: push an index into a collection, and search it there with token weights.

The client is a ``QdrantClient``, connected to a server or in memory, or an
:class:`~chamfer.integrations.qdrant.edge.EdgeClient`.
"""

from chamfer.errors import InputError

try:
    import qdrant_client  # noqa: F401 -- every file of this package needs it
except ImportError as error:
    raise InputError("chamfer.integrations.qdrant needs qdrant-client; run: pip install 'chamfer[qdrant]'") from error

from chamfer.integrations.qdrant.pushing import Pushed, collection_settings, delete, push
from chamfer.integrations.qdrant.searching import QdrantSearcher

__all__ = ["Pushed", "QdrantSearcher", "collection_settings", "delete", "push"]
