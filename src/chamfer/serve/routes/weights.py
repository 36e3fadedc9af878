"""``/weights``: versions of the weights, and their tokens."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Response

from chamfer.serve import editing
from chamfer.serve.answers import as_json
from chamfer.serve.json_bodies import PlainJsonRoute, raw_body
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.fields import MixFields
from chamfer.serve.schemas.weights import ListedVersion, NewWeights, TokensResponse, UseRequest, WeightsResponse
from chamfer.serve.service import Service
from chamfer.weights.names import mix_of

# The body of an upload in the OpenAPI document. It is not declared as a parameter: FastAPI would parse a body of type
# application/json before anything looks at its size.
FILE = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "safetensors"}}},
}


def weights_routes(service: Service, queues: Queues) -> APIRouter:
    """List the weights and change them."""
    router, versions = APIRouter(route_class=PlainJsonRoute), service.versions

    def listed() -> WeightsResponse:
        return WeightsResponse(
            version=versions.current.number,
            versions=[
                ListedVersion(
                    version=one.number,
                    name=one.name,
                    made=one.made,
                    recipe=one.recipe,
                    mix=MixFields.of(mix_of(one.weights, service.queries.encoder)),
                )
                for one in versions.all()
            ],
        )

    @router.get("/weights", summary="List the versions of the weights.")
    async def get_weights() -> WeightsResponse:
        return listed()

    @router.get(
        "/weights/tokens",
        response_model=TokensResponse,
        summary="List the heaviest or lightest tokens of the weights in use.",
    )
    async def get_tokens(
        contains: Annotated[str, Query(max_length=100)] = "",
        order: Literal["heaviest", "lightest"] = "heaviest",
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    ) -> Response:
        return as_json(
            await queues.changes.ask(
                lambda: editing.list_tokens(service.queries, versions.current, contains, order, limit)
            )
        )

    @router.put("/weights", summary="Create a version of the weights and switch to it.")
    async def put_weights(asked: NewWeights) -> WeightsResponse:
        await queues.changes.ask(lambda: editing.put_weights(service.queries, versions, asked))
        return listed()

    @router.put(
        "/weights/file",
        summary="Upload a .safetensors file as a version of the weights and switch to it.",
        openapi_extra={"requestBody": FILE},
    )
    async def put_file(
        content: Annotated[bytes, Depends(raw_body)],
        name: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    ) -> WeightsResponse:
        await queues.changes.ask(lambda: editing.put_file(service.queries, versions, content, name))
        return listed()

    @router.post("/weights/use", summary="Switch to another version: an earlier one, or a learnt one.")
    async def use_weights(asked: UseRequest) -> WeightsResponse:
        await queues.changes.ask(lambda: versions.use(asked.version))
        return listed()

    @router.delete("/weights/{version}", summary="Delete a version that is not in use.")
    async def drop_weights(version: Annotated[int, Path(ge=1)]) -> WeightsResponse:
        await queues.changes.ask(lambda: versions.drop(version))
        return listed()

    return router
