"""``/documents``: adding, replacing and deleting them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from chamfer.serve.answers import as_json
from chamfer.serve.batches import BusyError
from chamfer.serve.bodies import DOCUMENTS
from chamfer.serve.json_bodies import PlainJsonRoute
from chamfer.serve.problems import ForbiddenError
from chamfer.serve.queues import Queues, ask_until_abandoned
from chamfer.serve.schemas.documents import DeleteRequest, DeleteResponse, PutRequest, PutResponse
from chamfer.serve.service import Service

NOT_WRITABLE = "this server does not change documents; start it with chamfer serve --writable"


def document_routes(service: Service, queues: Queues, *, writable: bool) -> APIRouter:
    """Change the documents of the index."""

    async def check() -> None:
        reason = service.backend.read_only or (None if writable else NOT_WRITABLE)
        if reason is not None:
            raise ForbiddenError(reason)

    async def change(work: Callable[[Callable[[], bool]], BaseModel], request: Request) -> Response:
        answer = await ask_until_abandoned(queues.documents, work, request.receive)
        with suppress(BusyError, OSError):  # then the server follows the commit a moment later
            await queues.changes.ask(service.backend.refresh)
        task = asyncio.create_task(merge())
        merges.add(task)
        task.add_done_callback(merges.discard)
        return as_json(answer)

    async def merge() -> None:
        with suppress(BusyError):  # then the next change does it
            await queues.documents.ask(lambda: service.backend.merge_segments())

    merges = set[asyncio.Task[None]]()  # the event loop does not keep them

    router = APIRouter(route_class=PlainJsonRoute, dependencies=[Depends(check)])

    @router.put(
        DOCUMENTS,
        response_model=PutResponse,
        summary="Add documents, and replace those that have the same ids: all of them, or none.",
    )
    async def put_documents(asked: PutRequest, request: Request) -> Response:
        return await change(lambda is_abandoned: service.backend.put_documents(asked.documents, is_abandoned), request)

    @router.delete(DOCUMENTS, response_model=DeleteResponse, summary="Delete documents.")
    async def delete_documents(asked: DeleteRequest, request: Request) -> Response:
        return await change(lambda _: service.backend.delete_documents(asked.ids), request)

    return router
