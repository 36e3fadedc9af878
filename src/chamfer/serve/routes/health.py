"""``/health`` and ``/metrics``."""

import asyncio

from fastapi import APIRouter, Response

from chamfer import __version__
from chamfer.serve.answers import public_name
from chamfer.serve.metrics import Metrics
from chamfer.serve.schemas.health import HealthResponse
from chamfer.serve.service import Service


def health_routes(service: Service, metrics: Metrics) -> APIRouter:
    """Report the state of the server."""
    router = APIRouter()

    @router.get("/health", summary="Whether the server is up, and what it serves.")
    async def health() -> HealthResponse:
        missing = await asyncio.to_thread(service.backend.missing_shards)
        return HealthResponse(
            status="partial" if missing else "ok",
            missing_shards=missing,
            index=service.backend.name,
            documents=service.backend.reader.documents,
            encoder=public_name(service.queries.encoder.name),
            weights=service.versions.current.number,
            version=__version__,
        )

    @router.get("/metrics", summary="Metrics for Prometheus.", response_class=Response)
    async def get_metrics() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
