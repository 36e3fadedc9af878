"""``/search``."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from chamfer.search.hits import DEFAULT_K
from chamfer.serve.schemas.fields import (
    WHOLE,
    ChosenMix,
    Filter,
    Notes,
    Partial,
    Query,
    Request,
    Truncated,
    UsedVersion,
    Weighting,
)

MOST_HITS = 1000


class SearchRequest(Request):
    """A search of the index."""

    query: Query
    k: Annotated[int, Field(ge=1, le=MOST_HITS, description="Number of documents to return."), WHOLE] = DEFAULT_K
    weights: Weighting = "current"
    where: Filter = None
    mix: ChosenMix = None
    normalise: Annotated[
        bool,
        Field(
            description="Whether to divide scores by the total weight, so that 0 is a perfect match on every token. "
            "Evidence of a mix is added to that."
        ),
    ] = False


class Found(BaseModel):
    """A document that was found; higher scores are better."""

    id: str
    score: Annotated[float | None, Field(description="Null for a document without tokens.")]
    text: str
    metadata: dict[str, Any]


class SearchResponse(Partial):
    """The top documents, best first."""

    hits: list[Found]
    query_was_truncated: Truncated
    notes: Notes
    weights: UsedVersion
