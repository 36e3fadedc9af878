"""What a server of shards needs to encode queries and weight their tokens."""

from pathlib import Path

from chamfer.encode.encoder import Encoder
from chamfer.index.encoder import load_encoder
from chamfer.index.shards import ShardVersion, open_head
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.search.query_encoder import QueryEncoder


def open_queries(
    folder: Path, version: ShardVersion, encoder: Encoder | None = None, *, form: Form = DEFAULT_FORM
) -> QueryEncoder:
    """Open the query encoder for a version of the shards; ``idf`` counts the documents of all shards.

    Args:
        folder: folder of the shards.
        version: version of the shards.
        encoder: an encoder that is already loaded.
        form: ``l2`` or ``cosine``.
    """
    head = open_head(folder, version)
    return QueryEncoder(head, encoder or load_encoder(head.settings, "query"), form=form)
