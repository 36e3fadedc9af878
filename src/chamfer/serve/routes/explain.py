"""``/explain``."""

from fastapi import APIRouter, Response

from chamfer.serve.answers import as_json
from chamfer.serve.json_bodies import PlainJsonRoute
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.explain import ExplainRequest, ExplainResponse


def explain_routes(queues: Queues) -> APIRouter:
    """Explain scores."""
    router = APIRouter(route_class=PlainJsonRoute)

    @router.post(
        "/explain",
        response_model=ExplainResponse,
        summary="Explain scores: what each query token matched, and what that contributed.",
    )
    async def explain(asked: ExplainRequest) -> Response:
        return as_json(await queues.explanations.ask(asked))

    return router
