"""Request bodies: JSON as its standard defines it, so that whatever is accepted can be sent back."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from chamfer.serve.limits import BODY_VALUES
from chamfer.support.plain_json import LargeJsonError, parse_json


class PlainJsonRequest(Request):
    """A request whose body is JSON without NaN, lone surrogates, endless nesting and millions of values."""

    async def json(self) -> Any:  # noqa: ANN401 -- JSON
        """Parse the body; FastAPI turns a ``ValueError`` into status 400."""
        try:
            return parse_json(await self.body(), most=BODY_VALUES)
        except LargeJsonError as error:
            raise HTTPException(413, f"the request body is too large: {error}; send less at a time") from None


class PlainJsonRoute(APIRoute):
    """A route that parses bodies with :class:`PlainJsonRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See FastAPI."""
        handle = super().get_route_handler()

        async def handle_plain(request: Request) -> Response:
            return await handle(PlainJsonRequest(request.scope, request.receive))

        return handle_plain


async def raw_body(request: Request) -> bytes:
    """The body as it was sent, whatever its content type says."""
    return await request.body()
