"""``/learn``."""

from fastapi import APIRouter, Response

from chamfer.errors import InputError, UnknownNameError
from chamfer.serve.answers import as_json
from chamfer.serve.problems import ConflictError
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.learning import LearnRequest, LearnResponse
from chamfer.serve.service import Service


def learning_routes(service: Service, queues: Queues) -> APIRouter:
    """Learn weights from marks."""
    router = APIRouter()

    @router.post(
        "/learn",
        response_model=LearnResponse,
        summary="Learn weights from documents that were marked relevant or not.",
    )
    async def learn_weights(asked: LearnRequest) -> Response:
        try:
            return as_json(await queues.lessons.ask(lambda: service.learn(asked)))
        except UnknownNameError:
            raise
        except InputError as error:  # the marks are well-formed, but not enough to learn from
            raise ConflictError(str(error)) from error

    return router
