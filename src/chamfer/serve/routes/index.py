"""``/index``."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from chamfer.index.field_counts import LISTED_VALUES, SERVED_VALUES
from chamfer.serve.description import Descriptions
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.index import IndexResponse
from chamfer.serve.service import Service


def index_routes(service: Service, queues: Queues) -> APIRouter:
    """Say what the index holds."""
    router, descriptions = APIRouter(), Descriptions(service.backend)

    @router.get(
        "/index",
        response_model=IndexResponse,
        summary="What the index holds: its metadata fields with counts, and example queries.",
    )
    async def get_index(values: Annotated[int, Query(ge=0, le=SERVED_VALUES)] = LISTED_VALUES) -> Response:
        content = await queues.descriptions.ask(lambda: descriptions.answer(values))
        return Response(content, media_type="application/json")

    return router
