"""``/rerank``, also at the paths that clients of Cohere and Jina use."""

from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Response

from chamfer.serve.answers import as_json, public_name
from chamfer.serve.json_bodies import PlainJsonRoute
from chamfer.serve.queues import Queues
from chamfer.serve.schemas.rerank import Ranked, RerankRequest, RerankResponse, TextDocument
from chamfer.serve.service import Service, Texts, TextScore, Weighted, weights_for

# Texts of a request that are encoded at a time, so that searches get their turn in between.
SLICE = 32

ALIASES = ("/v1/rerank", "/v2/rerank")


def rerank_routes(service: Service, queues: Queues) -> APIRouter:
    """Rank texts that are sent with the request."""
    router = APIRouter(route_class=PlainJsonRoute)

    @router.post(
        "/rerank", response_model=RerankResponse, summary="Rank texts for a query, as Cohere's and Jina's endpoints do."
    )
    async def rerank(asked: RerankRequest) -> Response:
        weights = weights_for(asked.weights, service.versions.current)
        sent = [document if isinstance(document, str) else document.text for document in asked.documents]
        distinct = list(dict.fromkeys(sent))  # equal texts must score alike, whichever slice they are in
        query: str | Weighted = asked.query
        scores: dict[str, TextScore] = {}
        tokens, warnings = 0, list[str]()
        for start in range(0, len(distinct), SLICE):
            scored = await queues.texts.ask(Texts(query, distinct[start : start + SLICE], weights, asked.mix))
            query, warnings = scored.query, warnings_of(scored.query)
            scores |= scored.scores
            tokens += scored.tokens
        good = [place for place, text in enumerate(sent) if scores[text].score >= asked.min_score]
        order = sorted(good, key=lambda place: (-scores[sent[place]].kernel, place))[: asked.top_n]
        meta: dict[str, Any] = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
        if warnings:
            meta["warnings"] = warnings
        return as_json(
            RerankResponse(
                id=str(uuid4()),
                model=public_name(service.queries.encoder.name),
                results=[_ranked(asked, place, scores[sent[place]]) for place in order],
                meta=meta,
                usage={"total_tokens": tokens},
            )
        )

    for path in ALIASES:
        router.post(
            path,
            response_model=RerankResponse,
            summary="Same as /rerank.",
            operation_id=path.strip("/").replace("/", "_"),
        )(rerank)
    return router


def warnings_of(query: Weighted) -> list[str]:
    """What is odd about a query, and about the index that counts its words; Cohere's endpoint has a place for it."""
    words = f"words were counted without the documents of {', '.join(query.missing)}"
    return [*query.notes, *([words] if query.missing else [])]


def _ranked(asked: RerankRequest, place: int, scored: TextScore) -> Ranked:
    return Ranked(
        index=place,
        relevance_score=scored.score,
        document=_as_document(asked.documents[place]) if asked.return_documents else None,
    )


def _as_document(document: str | TextDocument) -> dict[str, Any]:
    return {"text": document} if isinstance(document, str) else document.model_dump()
