"""``/health`` and ``/metrics``."""

from typing import Any

from fastapi import APIRouter, Response

from chamfer import __version__
from chamfer.serve.answers import public_name
from chamfer.serve.metrics import Metrics
from chamfer.serve.recent import Recent
from chamfer.serve.schemas.health import HealthResponse, Status
from chamfer.serve.service import Service

# Unlike other errors, it has the fields of the usual answer; a load balancer looks at the code.
FAILING: dict[int | str, dict[str, Any]] = {503: {"model": HealthResponse, "description": "Use another server."}}

# Seconds that the shards' last answer is used, because anybody may ask for it as often as they like.
RECENT_SECONDS = 1.0


def health_routes(service: Service, metrics: Metrics) -> APIRouter:
    """Report the state of the server."""
    router = APIRouter()
    missing_shards = Recent(service.backend.missing_shards, seconds=RECENT_SECONDS)

    @router.get("/health", summary="Whether the server is up, and what it serves.", responses=FAILING)
    async def health(response: Response) -> HealthResponse:
        missing, problem = await missing_shards.get(), service.backend.problem
        status: Status = "partial" if missing else "ok"
        if problem is not None and (not missing or problem.status == "failing"):
            status = problem.status
        response.status_code = 503 if status == "failing" else 200
        return HealthResponse(
            status=status,
            problem=problem.reason if problem is not None else None,
            missing_shards=missing,
            index=service.backend.name,
            documents=service.backend.reader.documents,
            age_seconds=round(service.backend.age, 1),
            encoder=public_name(service.queries.encoder.name),
            weights=service.versions.current.number,
            version=__version__,
        )

    @router.get("/metrics", summary="Metrics for Prometheus.", response_class=Response)
    async def get_metrics() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
