"""The server as an ASGI application."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace

from fastapi import FastAPI, Response

from chamfer import __version__
from chamfer.errors import InputError
from chamfer.search.searcher import Searcher
from chamfer.serve.asgi import Application
from chamfer.serve.batches import BusyError
from chamfer.serve.guard import Guard
from chamfer.serve.hosts import checked_hosts
from chamfer.serve.limits import Limits
from chamfer.serve.metrics import Metrics
from chamfer.serve.problems import RESPONSES, answer_problems
from chamfer.serve.queues import Queues
from chamfer.serve.routes.documents import document_routes
from chamfer.serve.routes.evaluation import evaluation_routes
from chamfer.serve.routes.explain import explain_routes
from chamfer.serve.routes.health import health_routes
from chamfer.serve.routes.index import index_routes
from chamfer.serve.routes.learning import learning_routes
from chamfer.serve.routes.page import page_routes
from chamfer.serve.routes.rerank import rerank_routes
from chamfer.serve.routes.search import search_routes
from chamfer.serve.routes.weights import weights_routes
from chamfer.serve.service import Service
from chamfer.serve.single import service_of
from chamfer.support.api_key import check_key
from chamfer.weights.files import largest_size

# Seconds between checks for a newer commit of the index.
REFRESH_SECONDS = 0.5


def create_app(
    source: Searcher | Service,
    *,
    limits: Limits | None = None,
    key: str | None = None,
    hosts: Collection[str] | None = None,
    writable: bool = False,
) -> Application:
    """Make the server, an ASGI application.

    Args:
        source: searcher of the index to serve, whose weights are the first version; or a service, which answers the
            requests.
        limits: limits on requests; the defaults if not given.
        key: API key that clients must send; none by default.
        hosts: host names to answer to, besides IP addresses and localhost; any by default. Without a key, name them,
            or web pages can reach the server through their visitors' browsers (DNS rebinding).
        writable: whether clients may add, replace and delete documents, for which they need the key.
    """
    if key is not None:
        check_key(key)
    if writable and key is None:
        raise InputError("a server that changes documents needs an API key; pass one as key")
    service = service_of(source) if isinstance(source, Searcher) else source
    if writable and service.backend.read_only is not None:
        raise InputError(service.backend.read_only)
    limits, metrics = limits or Limits(), Metrics()
    encoder = service.backend.reader.queries.encoder
    largest = largest_size(encoder.vocabulary, encoder.dimensions)
    limits = replace(limits, file_bytes=min(limits.file_bytes, largest))
    queues = Queues(service, limits, metrics)
    metrics.follow("chamfer_waiting", "Queued requests.", lambda: len(queues))
    metrics.follow("chamfer_weights_version", "Version of the weights in use.", lambda: service.versions.current.number)
    metrics.follow("chamfer_documents", "Documents in the index.", lambda: service.backend.reader.documents)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        refreshing = asyncio.create_task(_refresh(service, queues))
        yield
        refreshing.cancel()
        await asyncio.to_thread(queues.close)
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="chamfer",
        version=__version__,
        description="Late-interaction retrieval in which every query token has a weight.",
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from a CDN
        redoc_url=None,
        openapi_url=None,  # FastAPI would render it for every request
        responses=RESPONSES,
    )
    answer_problems(app)
    for router in (
        search_routes(queues),
        rerank_routes(service, queues),
        explain_routes(queues),
        index_routes(service, queues),
        document_routes(service, queues, writable=writable),
        weights_routes(service, queues),
        learning_routes(service, queues),
        evaluation_routes(service, queues),
        health_routes(service, metrics),
        page_routes(),
    ):
        app.include_router(router)
    description = app.openapi()
    described = json.dumps(description, ensure_ascii=False).encode()

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(described, media_type="application/json")

    methods = {path: {method.upper() for method in of_path} for path, of_path in description["paths"].items()}
    return Guard(
        app,
        limits=limits,
        metrics=metrics,
        methods=methods,
        key=key,
        hosts=hosts if hosts is None else checked_hosts(hosts),
    )


async def _refresh(service: Service, queues: Queues) -> None:
    """Follow the commits of the index."""
    while True:
        await asyncio.sleep(REFRESH_SECONDS)
        try:
            await queues.changes.ask(service.backend.refresh)
        except BusyError:
            pass
        except Exception as error:  # may be temporary; if it is not, answers say that they may be out of date
            is_bug = not isinstance(error, OSError)
            logging.getLogger("chamfer").warning(
                "cannot check for a newer commit of the index: %s", error, exc_info=is_bug
            )
