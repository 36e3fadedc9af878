"""A document as a Qdrant point: id, vectors and payload."""

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from qdrant_client import QdrantClient, models

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.fields import fields_of
from chamfer.index.index import Index
from chamfer.index.snapshot import Snapshot
from chamfer.retrieve.sparse import SparseVector
from chamfer.tokens.batch import Vectors

if TYPE_CHECKING:  # needs a library that users of a server do not install
    from chamfer.integrations.qdrant.edge import EdgeClient

Client: TypeAlias = "QdrantClient | EdgeClient"

TOKENS, WORDS = "tokens", "words"
"""Names of the vectors: one row per token, and BM25 weights."""

ID, TITLE, TEXT, METADATA, FIELDS = "id", "title", "text", "metadata", "fields"
MODEL, DIMENSIONS, CONTENT, COMMIT = "model", "dimensions", "content", "commit"
"""Keys of the payload: the document, and what a later push needs to know about the point."""

# Change this when the rows or the payload change, so that a push replaces points of an earlier version.
LAYOUT = "1"


class Point(NamedTuple):
    """What is pushed for a document.

    Args:
        id: id of the point, derived from the id of the document.
        vectors: ``(tokens, dimensions)`` token vectors.
        words: BM25 weights.
        payload: payload; ``content`` is a digest of the rest of it and the vectors.
    """

    id: str
    vectors: Vectors
    words: SparseVector
    payload: dict[str, Any]

    @classmethod
    def of(cls, document: Document, vectors: Vectors, words: SparseVector, *, model: str, commit: str) -> Self:
        """Make the point of a document; ``model`` encoded it, and ``commit`` of the index is pushed."""
        metadata = dict(document.metadata)
        fields: dict[str, list[Any]] = {}
        for name, kind, value in fields_of(metadata):
            fields.setdefault(name, []).append(bool(value) if kind == "boolean" else value)
        told = {ID: document.id, TEXT: document.text, METADATA: metadata, FIELDS: fields, MODEL: model}
        if document.title:
            told[TITLE] = document.title
        told[DIMENSIONS] = vectors.shape[1]
        content = digest(LAYOUT, json.dumps(told), vectors.tobytes())
        return cls(point_id(document.id), vectors, words, {**told, CONTENT: content, COMMIT: commit})

    def whole(self) -> models.PointStruct:
        """The complete point. Without tokens or words it lacks that vector, and searches over that vector skip it."""
        vectors: dict[str, Any] = {TOKENS: rows(self.vectors)} if len(self.vectors) else {}
        return models.PointStruct(id=self.id, vector=vectors | self._words(), payload=self.payload)

    def weights(self) -> models.PointVectors | None:
        """The BM25 weights alone, if there are any."""
        return models.PointVectors(id=self.id, vector=self._words()) if self.words.indices else None

    def _words(self) -> dict[str, Any]:
        return {WORDS: models.SparseVector(**self.words._asdict())} if self.words.indices else {}


def point_id(identifier: str) -> str:
    """The id of a document's point."""
    return str(uuid5(NAMESPACE_URL, f"chamfer:{identifier}"))


def rows(vectors: Vectors, last: float | None = None) -> list[list[float]]:
    """Append a number to each vector: ``(1 - |d|^2) / 2`` for documents, ``last`` for queries.

    With a query that ends in 1, the product is ``<q, d> + (1 - |d|^2) / 2``. So ``||q - d||^2`` is
    ``|q|^2 + 1 - 2 * product`` even if rounding or quantization has changed the length of ``d``. With a query that ends
    in 0, the product is ``<q, d>``.
    """
    longer = np.full((len(vectors), vectors.shape[1] + 1), last or 0, np.float32)
    longer[:, :-1] = vectors
    if last is None:
        longer[:, -1] = (1 - np.square(longer[:, :-1]).sum(axis=1)) / 2
    found: list[list[float]] = longer.tolist()
    return found


def made_with(client: Client, name: str) -> dict[str, Any]:
    """The model and dimensions of a collection's vectors, read from one point; empty if there is no point."""
    if not client.collection_exists(name):
        raise InputError(f"there is no collection {name!r}; push an index into it first")
    first, _ = client.scroll(name, limit=1, with_payload=[MODEL, DIMENSIONS])
    return (first[0].payload or {}) if first else {}


def snapshot_of(index: Index | Snapshot) -> Snapshot:
    """The commit of an index to read."""
    return index.snapshot if isinstance(index, Index) else index


def digest(*parts: str | bytes) -> str:
    """A short digest of the parts."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(len(content).to_bytes(8, "little") + content)
    return found.hexdigest()
