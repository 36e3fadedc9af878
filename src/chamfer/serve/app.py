"""The routes: what each address takes, and what it answers."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import Body, FastAPI, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from chamfer import __version__
from chamfer.errors import InputError, UnknownNameError
from chamfer.serve import schemas
from chamfer.serve.batches import Batches, BusyError
from chamfer.serve.files import PAGE
from chamfer.serve.guard import Application, Guard, Limits
from chamfer.serve.metrics import Metrics
from chamfer.serve.service import LostError, Service, Texts
from chamfer.support.files import InUseError

# Texts of a re-rank request that are encoded at a time, so that searches get their turn between them.
SLICE = 32

# Seconds between two looks at whether the index has a newer commit.
LOOK = 0.5

# What a refused client should wait, in seconds.
LATER = 1

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Message, "description": told}
    for status, told in {
        400: "The request cannot be answered as it is.",
        401: "The API key is missing or wrong.",
        404: "A document, token or version that is named is not there.",
        405: "The address takes other methods; Allow says which.",
        408: "The request took too long to arrive.",
        409: "Nothing can be learnt from these marks; or the version is in use.",
        413: "The request is too large.",
        415: "The content type is not one of those that are read.",
        421: "The server answers to names of this machine only.",
        422: "A field is missing, unknown or not as it should be.",
        429: "Too many requests wait; come again after Retry-After seconds.",
        503: "The answer would take too long; or no shard can be reached.",
    }.items()
}


def create_app(
    service: Service, *, limits: Limits | None = None, key: str | None = None, local: bool = False
) -> Application:
    """The server as an ASGI application.

    Args:
        service: what answers.
        limits: how much a request may ask for.
        key: the API key that clients must send, if there is one.
        local: answer to the names of this machine only.
    """
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InputError("an API key is made of visible ASCII characters, which every client sends alike")
    limits = limits or Limits()
    metrics = Metrics()
    working, learning = ThreadPoolExecutor(1, "serve-work"), ThreadPoolExecutor(1, "serve-learn")
    searches = Batches(service.search, working, most=limits.batch, waiting=limits.waiting, tell=metrics.batches.observe)
    texts = Batches(service.score_texts, working, most=1, waiting=limits.waiting)
    explanations = Batches(service.explain, working, most=1, waiting=limits.waiting)
    changes: Batches[Callable[[], Any], Any] = Batches(_call_all, working, most=1, waiting=limits.waiting)
    lessons: Batches[Callable[[], Any], Any] = Batches(_call_all, learning, most=1, waiting=1)
    queues: tuple[Sized, ...] = (searches, texts, explanations, changes, lessons)
    metrics.follow("chamfer_waiting", "Requests that wait.", lambda: sum(map(len, queues)))
    metrics.follow("chamfer_weights_version", "The version in use.", lambda: service.versions.current.number)
    metrics.follow("chamfer_documents", "Documents in the index.", lambda: service.documents)

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        following = asyncio.create_task(follow())
        yield
        following.cancel()
        service.close()
        for executor in (working, learning):
            await asyncio.to_thread(executor.shutdown, wait=True, cancel_futures=True)

    async def follow() -> None:
        """Serve the index as it is, or was a moment ago."""
        while True:
            await asyncio.sleep(LOOK)
            with suppress(BusyError):
                try:
                    await changes.ask(service.refresh)
                except OSError as error:  # which may pass
                    logging.getLogger("chamfer").warning("the index could not be looked at: %s", error)

    app = FastAPI(
        title="chamfer",
        version=__version__,
        description="Late-interaction retrieval in which every query token has a weight.",
        lifespan=life,
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        responses=PROBLEMS,
    )
    _answer_problems(app)

    @app.post("/search", response_model=schemas.SearchResponse, summary="Find the best documents of the index.")
    async def search(asked: schemas.SearchRequest) -> Response:
        return _as_json(await searches.ask(asked))

    @app.post(
        "/rerank",
        response_model=schemas.RerankResponse,
        summary="Rank texts for a query, as Cohere's and Jina's endpoints do.",
    )
    async def rerank(asked: schemas.RerankRequest) -> Response:
        weights = service.versions.current.weights
        sent = [document if isinstance(document, str) else document.text for document in asked.documents]
        distinct = list(dict.fromkeys(sent))  # equal texts must score alike, in whatever slice they are
        relevance: dict[str, float] = {}
        tokens = 0
        for start in range(0, len(distinct), SLICE):
            scored = await texts.ask(Texts(asked.query, distinct[start : start + SLICE], weights))
            relevance |= scored.relevance
            tokens += scored.tokens
        order = sorted(range(len(sent)), key=lambda place: (-relevance[sent[place]], place))[: asked.top_n]
        return _as_json(
            schemas.RerankResponse(
                id=str(uuid4()),
                model=_last(service.searcher.encoder.name),
                results=[
                    schemas.Ranked(
                        index=place,
                        relevance_score=relevance[sent[place]],
                        document=_as_document(asked.documents[place]) if asked.return_documents else None,
                    )
                    for place in order
                ],
                meta={"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
                usage={"total_tokens": tokens},
            )
        )

    for path in ("/v1/rerank", "/v2/rerank"):  # where the clients of others look
        app.post(
            path,
            response_model=schemas.RerankResponse,
            summary="The same as /rerank.",
            operation_id=path.strip("/").replace("/", "_"),
        )(rerank)

    @app.post(
        "/explain",
        response_model=schemas.ExplainResponse,
        summary="Take scores apart: which token matched what, and what that added.",
    )
    async def explain(asked: schemas.ExplainRequest) -> Response:
        return _as_json(await explanations.ask(asked))

    @app.get("/weights", summary="The versions of the weights.")
    async def get_weights() -> schemas.WeightsResponse:
        return _versions(service)

    @app.get(
        "/weights/tokens",
        response_model=schemas.TokensResponse,
        summary="The heaviest or lightest tokens of the weights in use.",
    )
    async def get_tokens(
        contains: Annotated[str, Query(max_length=100)] = "",
        order: Literal["heaviest", "lightest"] = "heaviest",
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    ) -> Response:
        return _as_json(await changes.ask(lambda: service.tokens(contains, order, limit)))

    @app.put("/weights", summary="Use new weights from now on.")
    async def put_weights(asked: schemas.NewWeights) -> schemas.WeightsResponse:
        await changes.ask(lambda: service.put(asked))
        return _versions(service)

    @app.put("/weights/file", summary="Use weights from now on that are sent as a .safetensors file.")
    async def put_file(
        content: Annotated[
            bytes, Body(media_type="application/octet-stream", json_schema_extra={"format": "safetensors"})
        ],
        name: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    ) -> schemas.WeightsResponse:
        await changes.ask(lambda: service.put_file(content, name))
        return _versions(service)

    @app.post("/weights/use", summary="Use another version from now on: roll back, or take up what was learnt.")
    async def use_weights(asked: schemas.UseRequest) -> schemas.WeightsResponse:
        await changes.ask(lambda: service.versions.use(asked.version))
        return _versions(service)

    @app.delete("/weights/{version}", summary="Forget a version that is not in use.")
    async def drop_weights(version: Annotated[int, PathParameter(ge=1)]) -> schemas.WeightsResponse:
        await changes.ask(lambda: service.versions.drop(version))
        return _versions(service)

    @app.post(
        "/learn",
        response_model=schemas.LearnResponse,
        summary="Learn weights from documents that were marked relevant or not.",
    )
    async def learn_weights(asked: schemas.LearnRequest) -> Response:
        try:
            return _as_json(await lessons.ask(lambda: service.learn(asked)))
        except UnknownNameError:
            raise
        except InputError as error:  # the marks are well-formed, but do not suffice
            raise HTTPException(409, str(error)) from error

    @app.get("/health", summary="Whether the server is up, and what it serves.")
    async def health() -> schemas.HealthResponse:
        missing = await asyncio.to_thread(service.missing_shards)
        return schemas.HealthResponse(
            status="partial" if missing else "ok",
            missing_shards=missing,
            index=service.searcher.index.folder.resolve().name,
            documents=service.documents,
            encoder=_last(service.searcher.encoder.name),
            weights=service.versions.current.number,
            version=__version__,
        )

    @app.get("/metrics", summary="Numbers for Prometheus.", response_class=Response)
    async def get_metrics() -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return _file("index.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def page_file(name: str) -> Response:
        return _file(name)

    methods: dict[str, set[str]] = {}
    for path, operations in app.openapi()["paths"].items():
        methods[path] = {method.upper() for method in operations}
    return Guard(app, limits=limits, metrics=metrics, methods=methods, key=key, local=local)


# What FastAPI says, as this server says it.
TOLD = {
    "Not Found": "there is no such address; /openapi.json lists them",
    "There was an error parsing the body": "the request is not JSON",
}


def _answer_problems(app: FastAPI) -> None:
    """Every error is one sentence under ``message``."""

    def problem(status: int, message: str, **headers: str) -> JSONResponse:
        return JSONResponse({"message": message}, status, headers)

    def on(kind: type[Exception], answer: Callable[[Any], JSONResponse]) -> None:
        async def handle(_request: Request, error: Exception) -> JSONResponse:
            return answer(error)

        app.add_exception_handler(kind, handle)

    on(InputError, lambda error: problem(400, str(error)))
    on(UnknownNameError, lambda error: problem(404, str(error)))
    on(InUseError, lambda error: problem(409, str(error)))
    on(BusyError, lambda error: problem(429, "too many requests wait; come again later", **{"Retry-After": str(LATER)}))
    on(LostError, lambda error: problem(503, str(error), **{"Retry-After": str(LATER)}))
    on(HTTPException, lambda error: problem(error.status_code, TOLD.get(error.detail, error.detail)))
    on(RequestValidationError, lambda error: problem(*_first_mistake(error)))
    on(Exception, lambda error: problem(500, "something went wrong in the server; its log says what"))


def _first_mistake(error: RequestValidationError) -> tuple[int, str]:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return 400, "the request is not JSON"
    if first["type"] == "missing" and first["loc"] == ("body",):
        return 422, "the request has no body"
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", *schemas.KINDS) and not _is_kind(part))
    return 422, f"{where}: {first['msg']}" if where else first["msg"]


def _is_kind(part: object) -> bool:
    """Whether a part of a place is the name of one of several kinds that a value may have had."""
    return part in ("constrained-str", "str", "TextDocument")


def _as_json(answer: BaseModel) -> Response:
    """The declared model as JSON; it was checked when it was made, and FastAPI would check it again."""
    return Response(answer.model_dump_json(), media_type="application/json")


def _last(name: str) -> str:
    """A model by its last part: where a server keeps its files is nobody's business."""
    return name.rstrip("/").rpartition("/")[2]


def _as_document(document: str | schemas.TextDocument) -> dict[str, Any]:
    return {"text": document} if isinstance(document, str) else document.model_dump()


def _versions(service: Service) -> schemas.WeightsResponse:
    return schemas.WeightsResponse(
        version=service.versions.current.number,
        versions=[
            schemas.Version(version=one.number, name=one.name, made=one.made, recipe=one.recipe)
            for one in service.versions.all()
        ],
    )


def _file(name: str) -> Response:
    if name not in PAGE:
        raise HTTPException(404, "there is no such file")
    content, kind = PAGE[name]
    return Response(content, media_type=kind)


def _call_all(functions: Any) -> list[Any]:  # noqa: ANN401 -- each has an answer of its own kind
    return [function() for function in functions]
