"""``/learn``."""

from fastapi import APIRouter, Response

from chamfer.errors import DamagedError, InputError, UnknownNameError
from chamfer.serve.answers import as_json
from chamfer.serve.json_bodies import PlainJsonRoute
from chamfer.serve.problems import ConflictError
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.learning import LearnRequest, LearnResponse
from chamfer.serve.service import Service


def learning_routes(service: Service, queues: Queues) -> APIRouter:
    """Learn weights from judgements."""
    router = APIRouter(route_class=PlainJsonRoute)

    @router.post(
        "/learn",
        response_model=LearnResponse,
        summary="Learn weights from documents that were judged relevant or not.",
    )
    async def learn_weights(asked: LearnRequest) -> Response:
        try:
            return as_json(await queues.learning.ask(lambda: service.learn(asked)))
        except (UnknownNameError, DamagedError):
            raise
        except InputError as error:  # the request is valid, but nothing can be learnt from it
            raise ConflictError(str(error)) from error

    return router
