"""``/weights``: versions of the weights, and their tokens."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from chamfer.kernels.limits import LARGEST
from chamfer.serve import editing
from chamfer.serve.answers import as_json
from chamfer.serve.differences import compare_versions
from chamfer.serve.json_bodies import PlainJsonRoute, raw_body
from chamfer.serve.listing import distribution, list_tokens, list_versions
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.weights import (
    ChangesResponse,
    DistributionResponse,
    NewWeights,
    TokensResponse,
    UseRequest,
    WeightsResponse,
)
from chamfer.serve.service import Service
from chamfer.serve.token_table import Order, TokenTable, TokenTables

Weight = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]

# The body of an upload in the OpenAPI document. It is not declared as a parameter: FastAPI would parse a body of type
# application/json before anything looks at its size.
FILE = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "safetensors"}}},
}


def weights_routes(service: Service, queues: Queues) -> APIRouter:
    """List the weights and change them."""
    router, versions, tables = APIRouter(route_class=PlainJsonRoute), service.versions, TokenTables()

    def listed() -> WeightsResponse:
        return list_versions(service.queries, versions)

    async def changed(change: Callable[[], object]) -> WeightsResponse:
        def changed_and_listed() -> WeightsResponse:
            change()
            return listed()

        found: WeightsResponse = await queues.changes.ask(changed_and_listed)
        return found

    def table() -> TokenTable:
        return tables.of(service.queries, versions.current)

    @router.get("/weights", summary="List the versions of the weights.")
    async def get_weights() -> WeightsResponse:
        return await changed(lambda: None)

    @router.get(
        "/weights/tokens",
        response_model=TokensResponse,
        summary="List tokens of the weights in use: the heaviest, the lightest, or those that contain a text.",
    )
    async def get_tokens(
        contains: Annotated[
            str,
            Query(max_length=100, description="Substring to search for; exact matches come first."),
        ] = "",
        order: Annotated[
            Order,
            Query(description="`frequent`: those in most documents first; ties are broken by document frequency."),
        ] = "heaviest",
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        least: Annotated[
            Weight | None, Query(description="Smallest weight; with it, or with `below`, only tokens that occur.")
        ] = None,
        below: Annotated[Weight | None, Query(description="Weight that they must be below.")] = None,
    ) -> Response:
        def find() -> TokensResponse:
            return list_tokens(service.queries, table(), contains, order, limit, least=least, below=below)

        return as_json(await queues.changes.ask(find))

    @router.get(
        "/weights/distribution",
        response_model=DistributionResponse,
        summary="How the weights in use are distributed, with the heaviest and the lightest of the frequent words.",
    )
    async def get_distribution() -> Response:
        return as_json(await queues.changes.ask(lambda: distribution(service.queries, table())))

    @router.get(
        "/weights/{version}/changes",
        response_model=ChangesResponse,
        summary="Compare a version with the one in use, or with another one.",
    )
    async def get_changes(
        version: Annotated[int, Path(ge=1)],
        base: Annotated[int | None, Query(ge=1, description="The other version; the one in use by default.")] = None,
    ) -> Response:
        def compare() -> ChangesResponse:
            other = versions.current if base is None else versions.find(base)
            return compare_versions(service.queries, other, versions.find(version))

        return as_json(await queues.changes.ask(compare))

    @router.put("/weights", summary="Create a version of the weights and switch to it.")
    async def put_weights(asked: NewWeights) -> WeightsResponse:
        return await changed(lambda: editing.put_weights(service.queries, versions, asked))

    @router.put(
        "/weights/file",
        summary="Upload a .safetensors file as a version of the weights and switch to it.",
        openapi_extra={"requestBody": FILE},
    )
    async def put_file(
        content: Annotated[bytes, Depends(raw_body)],
        name: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    ) -> WeightsResponse:
        return await changed(lambda: editing.put_file(service.queries, versions, content, name))

    @router.post("/weights/use", summary="Switch to another version: an earlier one, or a learnt one.")
    async def use_weights(asked: UseRequest) -> WeightsResponse:
        return await changed(lambda: versions.use(asked.version))

    @router.delete("/weights/{version}", summary="Delete a version that is not in use.")
    async def drop_weights(version: Annotated[int, Path(ge=1)]) -> WeightsResponse:
        return await changed(lambda: versions.drop(version))

    return router
