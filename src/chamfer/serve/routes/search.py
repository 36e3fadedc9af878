"""``/search``."""

from fastapi import APIRouter, Response

from chamfer.serve.answers import as_json
from chamfer.serve.json_bodies import PlainJsonRoute
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.search import BatchRequest, BatchResponse, SearchRequest, SearchResponse


def search_routes(queues: Queues) -> APIRouter:
    """Search the index."""
    router = APIRouter(route_class=PlainJsonRoute)

    @router.post("/search", response_model=SearchResponse, summary="Find the top documents of the index.")
    async def search(asked: SearchRequest) -> Response:
        return as_json(await queues.searches.ask(asked))

    @router.post(
        "/search/batch", response_model=BatchResponse, summary="Find the top documents for each of several queries."
    )
    async def search_batch(asked: BatchRequest) -> Response:
        return as_json(await queues.search_batches.ask(asked))

    return router
