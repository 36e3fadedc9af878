"""A document as a point of a collection: its name there, its vectors, its payload."""

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from qdrant_client import QdrantClient, models

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.fields import fields_of
from chamfer.retrieve.sparse import SparseVector
from chamfer.tokens.batch import Vectors

if TYPE_CHECKING:  # it needs a library that users of a server do not have
    from chamfer.integrations.qdrant.edge import EdgeClient

Client: TypeAlias = "QdrantClient | EdgeClient"

TOKENS, WORDS = "tokens", "words"
"""The names of the vectors: a row for each token, and BM25."""

ID, TEXT, METADATA, FIELDS = "id", "text", "metadata", "fields"
MODEL, DIMENSIONS, CONTENT, COMMIT = "model", "dimensions", "content", "commit"
"""The names in a payload: what a user knows of a document, and what a push must know of a point."""

# Other rows or another payload must change it, so that a push replaces what an earlier version wrote.
LAYOUT = "1"


class Point(NamedTuple):
    """What is pushed of a document.

    Args:
        id: the same however often the document is pushed.
        vectors: ``(tokens, dimensions)`` of its tokens.
        words: its BM25 weights.
        payload: what it tells; ``content`` is the same as long as all of it, and the vectors, are.
    """

    id: str
    vectors: Vectors
    words: SparseVector
    payload: dict[str, Any]

    @classmethod
    def of(cls, document: Document, vectors: Vectors, words: SparseVector, *, model: str, commit: str) -> Self:
        """The point of a document, made by a model and pushed with a commit of an index."""
        metadata = dict(document.metadata)
        fields: dict[str, list[Any]] = {}
        for name, kind, value in fields_of(metadata):
            fields.setdefault(name, []).append(bool(value) if kind == "boolean" else value)
        told = {ID: document.id, TEXT: document.text, METADATA: metadata, FIELDS: fields, MODEL: model}
        told[DIMENSIONS] = vectors.shape[1]
        content = digest(LAYOUT, json.dumps(told), vectors.tobytes())
        return cls(point_id(document.id), vectors, words, {**told, CONTENT: content, COMMIT: commit})

    def whole(self) -> models.PointStruct:
        """To be written. Without tokens, or words, there is no such vector, and no search for it finds the point."""
        vectors: dict[str, Any] = {TOKENS: rows(self.vectors)} if len(self.vectors) else {}
        return models.PointStruct(id=self.id, vector=vectors | self._words(), payload=self.payload)

    def weights(self) -> models.PointVectors | None:
        """The BM25 weights alone, where there are any."""
        return models.PointVectors(id=self.id, vector=self._words()) if self.words.indices else None

    def _words(self) -> dict[str, Any]:
        return {WORDS: models.SparseVector(**self.words._asdict())} if self.words.indices else {}


def point_id(identifier: str) -> str:
    """The name of a document's point."""
    return str(uuid5(NAMESPACE_URL, f"chamfer:{identifier}"))


def rows(vectors: Vectors, last: float | None = None) -> list[list[float]]:
    """Vectors with one more number: ``(1 - |d|^2) / 2`` for documents, and ``last`` for queries.

    A query that ends in 1 then gives ``<q, d> + (1 - |d|^2) / 2``, of which ``||q - d||^2 = |q|^2 + 1 - 2 * product``
    follows also where 16 bits or codes have changed the length of ``d``. One that ends in 0 gives ``<q, d>``.
    """
    longer = np.full((len(vectors), vectors.shape[1] + 1), last or 0, np.float32)
    longer[:, :-1] = vectors
    if last is None:
        longer[:, -1] = (1 - np.square(longer[:, :-1]).sum(axis=1)) / 2
    found: list[list[float]] = longer.tolist()
    return found


def made_with(client: Client, name: str) -> dict[str, Any]:
    """The model and the dimensions of a collection's vectors, as one point tells; nothing where there is none."""
    if not client.collection_exists(name):
        raise InputError(f"there is no collection {name!r}; push an index first")
    first, _ = client.scroll(name, limit=1, with_payload=[MODEL, DIMENSIONS])
    return (first[0].payload or {}) if first else {}


def digest(*parts: str | bytes) -> str:
    """Short, and equal for equal parts only."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(len(content).to_bytes(8, "little") + content)
    return found.hexdigest()
