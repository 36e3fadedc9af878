"""``/`` and ``/page``: the web page."""

from fastapi import APIRouter, Response

from chamfer.errors import UnknownNameError
from chamfer.serve.files import PAGE


def page_routes() -> APIRouter:
    """Serve the files of the page."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page() -> Response:
        return _file("index.html")

    @router.get("/page/{name}")
    async def page_file(name: str) -> Response:
        return _file(name)

    return router


def _file(name: str) -> Response:
    if name not in PAGE:
        raise UnknownNameError(f"the page has no file {name!r}; open / instead")
    content, kind = PAGE[name]
    return Response(content, media_type=kind)
