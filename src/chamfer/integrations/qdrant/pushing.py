"""Push an index into a collection: send new and changed documents, remove deleted ones."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from qdrant_client import models

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.index import Index
from chamfer.index.snapshot import Snapshot
from chamfer.integrations.qdrant.points import (
    COMMIT,
    CONTENT,
    DIMENSIONS,
    TOKENS,
    WORDS,
    Client,
    Point,
    digest,
    made_with,
    point_id,
    snapshot_of,
)
from chamfer.retrieve.bm25 import BM25Stage
from chamfer.retrieve.sparse import sparse_documents
from chamfer.support.progress import Progress, quiet, shown
from chamfer.support.strings import list_of_strings
from chamfer.tokens.batch import TokenBatch, parts

# Tokens per request: with 385 numbers each, about 15 MB of JSON; a server accepts 32 MB by default.
TOKENS_PER_REQUEST = 2048


class Pushed(NamedTuple):
    """What a push did: the number of documents sent, given new BM25 weights only, removed, and left unchanged."""

    sent: int
    reweighted: int
    removed: int
    kept: int


def collection_settings(dimensions: int) -> dict[str, Any]:
    """Arguments for ``create_collection``, to create a collection with your own settings before a push.

    ``client.create_collection("papers", **collection_settings(384), shard_number=6)``

    The metric is the dot product, since cosine would normalise weights away. There is no HNSW graph, which does not
    suit MaxSim, and no IDF modifier for BM25, since each shard would count its own documents.

    Args:
        dimensions: dimensions of the vectors in the index; rows have one more, see :func:`.points.rows`.
    """
    tokens = models.VectorParams(
        size=dimensions + 1,
        distance=models.Distance.DOT,
        datatype=models.Datatype.FLOAT16,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        hnsw_config=models.HnswConfigDiff(m=0),
    )
    return {"vectors_config": {TOKENS: tokens}, "sparse_vectors_config": {WORDS: models.SparseVectorParams()}}


def push(client: Client, name: str, index: Index | Snapshot, *, progress: bool | None = None) -> Pushed:
    """Make a collection hold the documents of an index.

    The collection is created if necessary. Points have ids derived from their documents and a digest of their content,
    so an interrupted push is completed by running it again, and a push of a changed index sends only the changes:
    changed documents, and new BM25 weights for the others, which depend on the whole corpus. Until a push has finished,
    a search may see old and new versions of documents.

    Args:
        client: client of the engine.
        name: name of the collection.
        index: index to push.
        progress: whether to show a progress bar; by default only if stderr is a terminal.
    """
    return push_snapshot(client, name, snapshot_of(index), progress=shown(progress))


def push_snapshot(client: Client, name: str, index: Snapshot, *, progress: Progress = quiet) -> Pushed:
    """Push one commit of an index; see :func:`push`."""
    if index.settings.passages is not None:
        raise InputError("an index of passages cannot be pushed: a point is a document; build the index without them")
    if not client.collection_exists(name):
        client.create_collection(name, **collection_settings(index.dimensions))
    kept = made_with(client, name).get(DIMENSIONS, index.dimensions)
    if kept != index.dimensions:
        raise InputError(
            f"collection {name!r} has vectors of {kept} dimensions, but the index has {index.dimensions}; push it into "
            "another collection"
        )
    commit = digest(repr(index.manifest.segments))
    stage, model = BM25Stage(index), str(index.settings.encoder.get("model", ""))
    sent = reweighted = 0
    with progress("pushing documents", index.manifest.documents) as advance:
        for places, documents, tokens in _batches(index):
            words = sparse_documents(stage, places, [document.content for document in documents])
            points = [
                Point.of(document, tokens[n].vectors, words[n], model=model, commit=commit)
                for n, document in enumerate(documents)
            ]
            changed, older = _differing(client, name, points)
            if changed:
                client.upsert(name, [point.whole() for point in changed])
            if older:
                _reweight(client, name, older)
            sent, reweighted = sent + len(changed), reweighted + len(older)
            advance(len(points))
            index.relieve()
    current = models.FieldCondition(key=COMMIT, match=models.MatchValue(value=commit))
    foreign = models.IsEmptyCondition(is_empty=models.PayloadField(key=CONTENT))  # points that we did not write stay
    gone = models.Filter(must_not=[current, foreign])
    removed = client.count(name, gone, exact=True).count
    client.delete(name, models.FilterSelector(filter=gone))
    return Pushed(sent, reweighted, removed, index.manifest.documents - sent - reweighted)


def delete(client: Client, name: str, ids: Iterable[str]) -> None:
    """Remove documents from a collection; pushing an index that still has them adds them again."""
    client.delete(name, [point_id(identifier) for identifier in list_of_strings(ids, "ids")])


def _batches(index: Snapshot) -> Iterator[tuple[npt.NDArray[np.int64], list[Document], TokenBatch]]:
    """Batches of live documents: their places, texts with metadata, and vectors."""
    for start, segment in zip(index.starts.tolist(), index.segments, strict=False):
        for part in parts(segment.offsets, TOKENS_PER_REQUEST):
            local = np.arange(part.start, part.stop)
            if segment.deleted is not None:
                local = local[~segment.deleted[local]]
            if len(local):
                yield local + start, segment.database.documents(local), segment.take(local)


def _differing(client: Client, name: str, points: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """The points that are new or changed, and those of which only the BM25 weights may have changed."""
    ids = [point.id for point in points]
    there = {str(one.id): one.payload or {} for one in client.retrieve(name, ids, with_payload=[CONTENT, COMMIT])}

    def same(point: Point, key: str) -> bool:
        return bool(there.get(point.id, {}).get(key) == point.payload[key])

    changed = [point for point in points if not same(point, CONTENT)]
    return changed, [point for point in points if same(point, CONTENT) and not same(point, COMMIT)]


def _reweight(client: Client, name: str, points: Sequence[Point]) -> None:
    """Replace BM25 weights, and record their commit only afterwards, so that an interruption is noticed."""
    weights = [weights for weights in (point.weights() for point in points) if weights]
    if weights:
        client.update_vectors(name, weights)
    client.set_payload(name, {COMMIT: points[0].payload[COMMIT]}, [point.id for point in points])
