"""``/learn``."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter, Response

from chamfer.errors import DamagedError, InputError, UnknownNameError
from chamfer.learn.on_index import LEAST
from chamfer.learn.verdict import USUALLY_NEEDED
from chamfer.serve.answers import as_json
from chamfer.serve.json_bodies import PlainJsonRoute
from chamfer.serve.problems import ConflictError
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.learning import (
    MOST_JUDGED,
    CheckRequest,
    CheckResponse,
    LearningResponse,
    LearnRequest,
    LearnResponse,
    Running,
)
from chamfer.serve.service import Service


def learning_routes(service: Service, queues: Queues) -> APIRouter:
    """Learn weights from judgements."""
    router = APIRouter(route_class=PlainJsonRoute)

    @router.get("/learn", summary="What learning needs here, and what it is doing now.")
    async def get_learning() -> LearningResponse:
        step, seconds = service.learning.step, service.learning.seconds
        running = None if step is None else Running(doing=step.what, done=step.done, of=step.of, seconds=seconds)
        return LearningResponse(
            refusal=service.backend.unlearnable,
            least=LEAST,
            usually_needed=USUALLY_NEEDED,
            most=MOST_JUDGED,
            running=running,
        )

    @router.post(
        "/learn/check",
        response_model=CheckResponse,
        summary="Say what can be learnt from judgements, without learning anything.",
    )
    async def check_judgements(asked: CheckRequest) -> Response:
        with conflicts():
            return as_json(await queues.changes.ask(lambda: service.backend.check_judgements(asked)))

    @router.post(
        "/learn",
        response_model=LearnResponse,
        summary="Learn weights from documents that were judged relevant or not.",
    )
    async def learn_weights(asked: LearnRequest) -> Response:
        with conflicts():
            return as_json(await queues.learning.ask(lambda: service.learn(asked)))

    return router


@contextmanager
def conflicts() -> Iterator[None]:
    """Turn what the library refuses into a conflict: the request is valid, but nothing can be learnt from it."""
    try:
        yield
    except (UnknownNameError, DamagedError):
        raise
    except InputError as error:
        raise ConflictError(str(error)) from error
