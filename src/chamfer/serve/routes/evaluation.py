"""``/evaluate``."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from chamfer.data.judged import Judged
from chamfer.errors import DamagedError, InputError, UnknownNameError
from chamfer.evaluate.judged_data import GIVEN
from chamfer.serve.backend import Asked
from chamfer.serve.bodies import EVALUATE, JUDGED_FILE
from chamfer.serve.evaluating import compared, read_marks
from chamfer.serve.json_bodies import PlainJsonRoute, raw_body
from chamfer.serve.judged_files import file_name, read_file
from chamfer.serve.problems import ConflictError
from chamfer.serve.queues import Queues, ask_until_abandoned
from chamfer.serve.schemas.evaluation import (
    DEFAULT_COMPARED,
    MOST_COMPARED,
    MOST_EVALUATED,
    Baseline,
    ComparedWeights,
    EvaluateRequest,
    EvaluateResponse,
    EvaluationResponse,
    WeightsReference,
)
from chamfer.serve.service import Service

# The body in the OpenAPI document; see the other file that can be sent, in routes/weights.py.
FILE = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "judgements"}}},
}


def evaluation_routes(service: Service, queues: Queues) -> APIRouter:
    """Compare weights on judged queries."""
    router = APIRouter(route_class=PlainJsonRoute)

    async def evaluate(
        request: Request,
        read: Callable[[], Judged],
        split: str,
        weights: ComparedWeights,
        baseline: WeightsReference | None,
    ) -> Response:
        if service.backend.unmeasurable is not None:
            raise ConflictError(service.backend.unmeasurable)
        chosen = compared(service.versions, weights, baseline)
        asked = Asked(read, split, *chosen)
        # Made in the thread of the evaluation, because it may be long.
        answer = await ask_until_abandoned(
            queues.evaluating,
            lambda is_abandoned: service.evaluate(asked, is_abandoned).model_dump_json(),
            request.receive,
        )
        return Response(answer, media_type="application/json")

    @router.get(EVALUATE, summary="What an evaluation needs here.")
    async def get_evaluation() -> EvaluationResponse:
        return EvaluationResponse(
            refusal=service.backend.unmeasurable, most_queries=MOST_EVALUATED, most_weights=MOST_COMPARED
        )

    @router.post(
        EVALUATE,
        response_model=EvaluateResponse,
        summary="Compare weights on judged queries: measures, and which queries are won and lost, and why.",
    )
    async def evaluate_judgements(asked: EvaluateRequest, request: Request) -> Response:
        try:
            return await evaluate(request, lambda: read_marks(asked.judgements), GIVEN, asked.weights, asked.baseline)
        except (UnknownNameError, DamagedError):
            raise
        except InputError as error:  # the request is valid, but nothing can be measured on it
            raise ConflictError(str(error)) from error

    @router.post(
        JUDGED_FILE,
        response_model=EvaluateResponse,
        summary="Compare weights on an uploaded file of judged queries.",
        description="CSV, TSV, JSON, JSON lines, clicks or qrels, with the texts of queries.",
        openapi_extra={"requestBody": FILE},
    )
    async def evaluate_file(
        request: Request,
        content: Annotated[bytes, Depends(raw_body)],
        name: Annotated[str, Query(min_length=1, max_length=200)] = "judged.csv",
        weights: Annotated[ComparedWeights, Query()] = DEFAULT_COMPARED,  # type: ignore[assignment]
        baseline: Annotated[Baseline, Query()] = None,
    ) -> Response:
        name = file_name(name)
        return await evaluate(request, lambda: read_file(content, name), name, weights, baseline)

    return router
