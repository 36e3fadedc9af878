"""Qdrant's engine embedded in this process (``qdrant-edge-py``), with the interface of ``QdrantClient``."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from qdrant_client.http import models  # its QueryResponse is the one that a search returns

from chamfer.errors import InputError
from chamfer.search.hits import DEFAULT_K

try:
    import qdrant_edge as edge
except ImportError as error:
    raise InputError(
        "chamfer.integrations.qdrant.edge needs qdrant-edge-py; run: pip install 'chamfer[qdrant-edge]'"
    ) from error


class EdgeClient:
    """Collections in a folder: the part of ``QdrantClient`` that pushing and searching need.

    Only one process at a time can open a collection; :meth:`close` releases it.

    Args:
        folder: folder with one subfolder per collection.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._opened: dict[str, edge.EdgeShard] = {}

    def collection_exists(self, name: str) -> bool:
        """Whether a collection exists."""
        return (self._folder / name).is_dir()

    def create_collection(
        self,
        name: str,
        vectors_config: Mapping[str, models.VectorParams],
        sparse_vectors_config: Mapping[str, models.SparseVectorParams],
    ) -> bool:
        """Create a collection; it appears under its name once it is complete."""
        unfinished = self._folder / f".{name}"
        shutil.rmtree(unfinished, ignore_errors=True)  # left by a crash
        unfinished.mkdir(parents=True)
        vectors = {key: _vector_settings(value) for key, value in vectors_config.items()}
        sparse = {key: edge.EdgeSparseVectorParams() for key in sparse_vectors_config}
        edge.EdgeShard.create(str(unfinished), edge.EdgeConfig(vectors=vectors, sparse_vectors=sparse)).close()
        unfinished.rename(self._folder / name)
        return True

    def upsert(self, name: str, points: Sequence[models.PointStruct]) -> None:
        """Write points, replacing those with the same ids."""
        written = [edge.Point(point.id, _vectors(point.vector), point.payload) for point in points]
        self._shard(name).update(edge.UpdateOperation.upsert_points(written))

    def update_vectors(self, name: str, points: Sequence[models.PointVectors]) -> None:
        """Replace some vectors of points; other vectors stay."""
        written = [edge.PointVectors(point.id, _vectors(point.vector)) for point in points]
        self._shard(name).update(edge.UpdateOperation.update_vectors(written))

    def set_payload(self, name: str, payload: dict[str, Any], points: Sequence[str]) -> None:
        """Set fields in the payload of points."""
        self._shard(name).update(edge.UpdateOperation.set_payload(list(points), payload))

    def delete(self, name: str, points_selector: Sequence[str] | models.FilterSelector) -> None:
        """Delete points by id or by filter."""
        if isinstance(points_selector, models.FilterSelector):
            operation = edge.UpdateOperation.delete_points_by_filter(_condition(points_selector.filter))
        else:
            operation = edge.UpdateOperation.delete_points(list(points_selector))
        self._shard(name).update(operation)

    def count(self, name: str, count_filter: models.Filter | None = None, *, exact: bool = True) -> models.CountResult:
        """Count the points that match a filter."""
        request = edge.CountRequest(filter=_condition(count_filter), exact=exact)
        return models.CountResult(count=self._shard(name).count(request))

    def retrieve(self, name: str, ids: Sequence[str], with_payload: list[str]) -> list[models.Record]:
        """Return the points with these ids that exist."""
        found = self._shard(name).retrieve(list(ids), with_payload, with_vector=False)
        return [models.Record(id=str(record.id), payload=record.payload) for record in found]

    def scroll(self, name: str, limit: int, with_payload: list[str]) -> tuple[list[models.Record], None]:
        """Return the first points."""
        found, _ = self._shard(name).scroll(edge.ScrollRequest(limit=limit, with_payload=with_payload))
        return [models.Record(id=str(record.id), payload=record.payload) for record in found], None

    def query_points(
        self,
        name: str,
        query: Any,  # noqa: ANN401 -- a formula, a sparse vector or rows
        *,
        using: str | None = None,
        prefetch: Sequence[models.Prefetch] | None = None,
        query_filter: models.Filter | None = None,
        limit: int = DEFAULT_K,
        with_payload: bool | list[str] = True,
    ) -> models.QueryResponse:
        """Return the top points."""
        request = edge.QueryRequest(
            limit=limit,
            query=_query(query, using),
            prefetches=[
                edge.Prefetch(limit=one.limit or 0, query=_query(one.query, one.using)) for one in prefetch or []
            ],
            filter=_condition(query_filter),
            with_payload=with_payload,
        )
        found = self._shard(name).query(request)
        points = [models.ScoredPoint(id=str(p.id), version=p.version, score=p.score, payload=p.payload) for p in found]
        return models.QueryResponse(points=points)

    def close(self) -> None:
        """Flush everything to disk and release the collections for other processes."""
        while self._opened:
            self._opened.popitem()[1].close()

    def _shard(self, name: str) -> edge.EdgeShard:
        if name not in self._opened:
            if not self.collection_exists(name):
                raise InputError(f"there is no collection {name!r} in {self._folder}; push an index into it first")
            try:
                self._opened[name] = edge.EdgeShard.load(str(self._folder / name))
            except Exception as error:  # the engine raises nothing narrower
                place = self._folder / name
                raise InputError(f"cannot open {place} ({error}); another process may have it open") from error
        return self._opened[name]


def _vector_settings(given: models.VectorParams) -> edge.EdgeVectorParams:
    return edge.EdgeVectorParams(
        size=given.size,
        distance=edge.Distance.Dot,
        multivector_config=edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim),
        datatype=edge.VectorStorageDatatype.Float16,
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
    )


def _vectors(given: Any) -> dict[str, Any]:  # noqa: ANN401 -- one of many types
    sparse = models.SparseVector
    return {
        key: edge.SparseVector(value.indices, value.values) if isinstance(value, sparse) else value
        for key, value in given.items()
    }


def _query(given: Any, using: str | None) -> Any:  # noqa: ANN401 -- one of many types
    if isinstance(given, models.FormulaQuery):
        return edge.Formula(_expression(given.formula))
    return edge.Query.Nearest(_vectors({"": given})[""], using)


def _expression(given: Any) -> Any:  # noqa: ANN401 -- one of many types
    match given:
        case models.SumExpression():
            return edge.Expression.Sum([_expression(part) for part in given.sum])
        case models.MultExpression():
            return edge.Expression.Mult([_expression(part) for part in given.mult])
        case models.SqrtExpression():
            return edge.Expression.Sqrt(_expression(given.sqrt))
        case models.AbsExpression():
            return edge.Expression.Abs(_expression(given.abs))
        case str():
            return edge.Expression.Variable(given)
    return edge.Expression.Constant(given)


def _condition(given: Any) -> Any:  # noqa: ANN401 -- one of many types
    match given:
        case None:
            return None
        case list():
            return [_condition(one) for one in given]
        case models.Filter():
            return edge.Filter(_condition(given.must), _condition(given.should), _condition(given.must_not))
        case models.HasIdCondition():
            return edge.HasIdCondition(set(given.has_id))
        case models.IsEmptyCondition():
            return edge.IsEmptyCondition(given.is_empty.key)
        case models.FieldCondition(range=models.Range() as bounds):
            return edge.FieldCondition(given.key, range=edge.RangeFloat(**bounds.model_dump()))
        case models.FieldCondition(match=models.MatchValue() as exact):
            # The binding reads Python's True as the number 1, but NumPy's correctly.
            value: Any = np.bool_(exact.value) if isinstance(exact.value, bool) else exact.value
            return edge.FieldCondition(given.key, match=edge.MatchValue(value))
    raise InputError(f"the embedded engine does not support {type(given).__name__}; use a Qdrant server")
