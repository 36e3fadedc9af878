"""An index into a collection: what is new or changed is sent, what is gone is removed, the rest stays."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from qdrant_client import models

from chamfer.data.documents import Document
from chamfer.errors import InputError
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
)
from chamfer.retrieve.bm25 import BM25Stage
from chamfer.retrieve.sparse import sparse_documents
from chamfer.support.progress import Progress, quiet
from chamfer.tokens.batch import TokenBatch, parts

# Tokens in a request: 385 numbers each are some 15 MB of JSON, and a server takes 32 MB unless it is told otherwise.
AT_A_TIME = 2048


class Pushed(NamedTuple):
    """What a push did: how many documents were sent whole, got new BM25 weights only, were removed, stayed as is."""

    sent: int
    reweighted: int
    removed: int
    kept: int


def collection_settings(dimensions: int) -> dict[str, Any]:
    """What ``create_collection`` needs; use it to make a collection with more shards or replicas before a push.

    ``client.create_collection("papers", **collection_settings(384), shard_number=6)``

    Products, not cosines, which would normalise weights away; no graph, which does not suit MaxSim; and no modifier
    for BM25, for which an engine would count documents in each shard by itself.

    Args:
        dimensions: of the vectors that the index keeps; rows have one more, see :func:`.points.rows`.
    """
    tokens = models.VectorParams(
        size=dimensions + 1,
        distance=models.Distance.DOT,
        datatype=models.Datatype.FLOAT16,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        hnsw_config=models.HnswConfigDiff(m=0),
    )
    return {"vectors_config": {TOKENS: tokens}, "sparse_vectors_config": {WORDS: models.SparseVectorParams()}}


def push(client: Client, name: str, index: Snapshot, *, progress: Progress = quiet) -> Pushed:
    """Make a collection hold what an index holds.

    A collection that is not there is made. Points are named after their documents and tell what they were made of, so
    a push that was stopped is completed by running it again, and one of an index that has changed sends the changes:
    whole documents where these changed, and BM25 weights of all others, which depend on how many documents there are.
    Until it is finished, a search may find some documents as they were and others as they are.

    Args:
        client: where to.
        name: of the collection.
        index: opened.
        progress: told of every document.
    """
    if not client.collection_exists(name):
        client.create_collection(name, **collection_settings(index.dimensions))
    kept = made_with(client, name).get(DIMENSIONS, index.dimensions)
    if kept != index.dimensions:
        raise InputError(
            f"collection {name!r} holds vectors of {kept} dimensions and the index keeps {index.dimensions}; "
            "push it into another collection"
        )
    commit = digest(repr(index.manifest.segments))
    stage, model = BM25Stage(index), str(index.settings.encoder.get("model", ""))
    sent = reweighted = 0
    with progress("pushing documents", index.manifest.documents) as advance:
        for places, documents, tokens in _batches(index):
            words = sparse_documents(stage, places, [document.text for document in documents])
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
    foreign = models.IsEmptyCondition(is_empty=models.PayloadField(key=CONTENT))  # what others keep beside ours stays
    gone = models.Filter(must_not=[current, foreign])
    removed = client.count(name, gone, exact=True).count
    client.delete(name, models.FilterSelector(filter=gone))
    return Pushed(sent, reweighted, removed, index.manifest.documents - sent - reweighted)


def delete(client: Client, name: str, ids: Iterable[str]) -> None:
    """Remove documents from a collection; a push of an index that still holds them brings them back."""
    if isinstance(ids, str):
        raise InputError("give a list of ids, not one text, whose letters would be deleted one by one")
    client.delete(name, [point_id(identifier) for identifier in ids])


def _batches(index: Snapshot) -> Iterator[tuple[npt.NDArray[np.int64], list[Document], TokenBatch]]:
    """Live documents, some at a time: their places, what a user knows of them, and their vectors."""
    for start, segment in zip(index.starts.tolist(), index.segments, strict=False):
        for part in parts(segment.offsets, AT_A_TIME):
            local = np.arange(part.start, part.stop)
            if segment.deleted is not None:
                local = local[~segment.deleted[local]]
            if len(local):
                yield local + start, segment.database.documents(local), segment.take(local)


def _differing(client: Client, name: str, points: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """Those that are not there as they are now, and those of which only the BM25 weights may be others."""
    ids = [point.id for point in points]
    there = {str(one.id): one.payload or {} for one in client.retrieve(name, ids, with_payload=[CONTENT, COMMIT])}

    def same(point: Point, key: str) -> bool:
        return bool(there.get(point.id, {}).get(key) == point.payload[key])

    changed = [point for point in points if not same(point, CONTENT)]
    return changed, [point for point in points if same(point, CONTENT) and not same(point, COMMIT)]


def _reweight(client: Client, name: str, points: Sequence[Point]) -> None:
    """Replace BM25 weights, and then, so that a stop between the two is noticed, tell of which commit they are."""
    weights = [weights for weights in (point.weights() for point in points) if weights]
    if weights:
        client.update_vectors(name, weights)
    client.set_payload(name, {COMMIT: points[0].payload[COMMIT]}, [point.id for point in points])
