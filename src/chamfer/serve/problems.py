"""Errors as HTTP responses: a status code, and one sentence under ``message``."""

import errno
import logging
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from chamfer.errors import DamagedError, InputError, UnknownNameError
from chamfer.index.filter_errors import FilterSyntaxError
from chamfer.index.filters import SlowFilterError
from chamfer.serve.backend import LostError, UnwritableError
from chamfer.serve.batches import AbandonedError, BusyError
from chamfer.serve.documents import LargeBatchError, TwiceError
from chamfer.serve.judged_files import LargeFileError
from chamfer.serve.schemas import evaluation, rerank, weights
from chamfer.serve.schemas.fields import UNKNOWN_FIELD, Message
from chamfer.serve.state import DAMAGED
from chamfer.support.files import InUseError
from chamfer.support.mistakes import rule_broken

# Seconds that a refused client should wait before it retries.
RETRY_SECONDS = 1

# The description of each error in the OpenAPI document.
DESCRIPTIONS = {
    400: "The request is not valid JSON, or a value in it cannot be used.",
    401: "The API key is missing or wrong.",
    403: "The server does not change documents.",
    404: "A document, token or version in the request does not exist.",
    405: "The path does not support this method; the Allow header lists those it does.",
    408: "The request took too long to arrive.",
    409: "Nothing can be learnt from these judgements, or measured on them; the version is in use; or two documents "
    "have the same id.",
    413: "The request is too large.",
    415: "The content type is not supported.",
    421: "The server does not answer to this host name.",
    422: "A field is missing, unknown or invalid.",
    429: "Too many requests, or too many large ones, are waiting; retry after Retry-After seconds.",
    503: "The request or its filter timed out, no shard can be reached, files cannot be read or written, or another "
    "process is changing the index. A change that timed out may or may not have been stored; send it again.",
    507: "The disk of the server is full.",
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Message, "description": description} for status, description in DESCRIPTIONS.items()
}

# What metrics count a request as whose client has gone; nginx uses the same number, which HTTP leaves free.
GONE = 499

NOT_JSON = "the request body is not valid JSON"

# Errors that the web framework raises itself.
OF_FRAMEWORK = {400: NOT_JSON, 404: "there is no such path; /openapi.json lists all paths"}

# Parts of an error's location that name a variant of a union, not a field.
TAGS = {
    *(rerank.OBJECT, rerank.STRING),
    *(weights.BY_NAME, weights.BY_TOKEN),
    *(evaluation.BY_NAME, evaluation.BY_NUMBER),
}


class ConflictError(Exception):
    """A valid request that the current state does not allow."""


class ForbiddenError(Exception):
    """A request that this server never answers."""


def answer_problems(app: FastAPI) -> None:
    """Turn every exception into its response."""

    def on(kind: type[Exception], answer: Callable[[Any], JSONResponse]) -> None:
        async def handle(_request: Request, error: Exception) -> JSONResponse:
            return answer(error)

        app.add_exception_handler(kind, handle)

    later = {"Retry-After": str(RETRY_SECONDS)}
    on(InputError, lambda error: _problem(400, str(error)))
    on(FilterSyntaxError, lambda error: JSONResponse({"message": str(error), "position": error.position}, 400))
    on(DamagedError, lambda error: _problem(503, DAMAGED))  # the backend has it logged, once
    on(UnknownNameError, lambda error: _problem(404, str(error)))
    on(InUseError, lambda error: _problem(409, str(error)))
    on(ConflictError, lambda error: _problem(409, str(error)))
    on(TwiceError, lambda error: _problem(409, str(error)))
    on(LargeBatchError, lambda error: _problem(413, str(error)))
    on(LargeFileError, lambda error: _problem(413, str(error)))
    on(ForbiddenError, lambda error: _problem(403, str(error)))
    on(UnwritableError, lambda error: _problem(503, str(error), **later))
    on(BusyError, lambda error: _problem(429, "too many requests are waiting; try again later", **later))
    on(SlowFilterError, lambda error: _problem(503, str(error), **later))
    on(LostError, lambda error: _problem(503, str(error), **later))
    on(AbandonedError, lambda error: _problem(GONE, "the client has stopped waiting"))
    on(OSError, _failed_file)
    on(HTTPException, lambda error: _problem(error.status_code, _of_framework(error)))
    on(RequestValidationError, lambda error: _problem(*_first_mistake(error)))
    on(Exception, lambda error: _problem(500, "the server failed to answer; its log has the reason"))


def _failed_file(error: OSError) -> JSONResponse:
    logging.getLogger("chamfer").error("a file cannot be read or written: %s", error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _problem(507, "the disk of the server is full, so nothing was stored; free some space and try again")
    return _problem(503, "the server cannot read or write one of its files; its log has the reason")


def _of_framework(error: HTTPException) -> str:
    if isinstance(error.__cause__, ValueError):  # from parsing the body
        return f"{NOT_JSON} ({error.__cause__})"
    return OF_FRAMEWORK.get(error.status_code, error.detail)


def _problem(status: int, message: str, **headers: str) -> JSONResponse:
    return JSONResponse({"message": message}, status, headers)


def _first_mistake(error: RequestValidationError) -> tuple[int, str]:
    first = error.errors()[0]
    if error.body is None and first["loc"] == ("body",):
        return 422, "the request has no body"
    where = [str(part) for part in first["loc"][1:] if part not in TAGS]  # behind body, query or path
    if first["type"] == UNKNOWN_FIELD:
        where.append(first["ctx"]["name"])
    return 422, f"{'.'.join(where) or 'the request'} {rule_broken(first)}"
