"""``/search``."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from chamfer.search.hits import BATCH_HITS, BATCH_QUERIES, DEFAULT_K
from chamfer.serve.schemas.fields import (
    WHOLE,
    BestPassage,
    ChosenMix,
    Filter,
    MinScore,
    Notes,
    Partial,
    ProbablyNothing,
    Query,
    ReadCharacters,
    Request,
    Score,
    Truncated,
    UsedVersion,
    Weighting,
)

MOST_HITS = 1000
# Pages reach a little further than this.
MOST_SKIPPED = 9000


class Searching(Request):
    """The settings of a search, or of several."""

    k: Annotated[int, Field(ge=1, le=MOST_HITS, description="Number of documents to return."), WHOLE] = DEFAULT_K
    offset: Annotated[
        int,
        Field(
            ge=0,
            le=MOST_SKIPPED,
            description="Number of better documents to skip: `k` of 10 and `offset` of 10 are the second page.",
        ),
        WHOLE,
    ] = 0
    weights: Weighting = "current"
    where: Filter = None
    mix: ChosenMix = None
    min_score: MinScore = 0.0


class SearchRequest(Searching):
    """A search of the index."""

    query: Query


class BatchRequest(Searching):
    """Several searches with the same settings."""

    queries: Annotated[list[Query], Field(min_length=1, max_length=BATCH_QUERIES)]
    k: Annotated[
        int, Field(ge=1, le=BATCH_HITS, description="Number of documents to return for each query."), WHOLE
    ] = DEFAULT_K


class Found(BaseModel):
    """A document that was found; higher scores are better."""

    id: str
    score: Score
    title: Annotated[str, Field(description="Empty for a document without a title.")]
    text: Annotated[str, Field(description="The text, without the title; of a long document, its best passage.")]
    passage: BestPassage = None
    metadata: dict[str, Any]


class SearchResponse(Partial):
    """The top documents, best first."""

    hits: list[Found]
    query_was_truncated: Truncated
    query_read: ReadCharacters
    probably_nothing: ProbablyNothing
    notes: Notes
    weights: UsedVersion


class BatchResponse(BaseModel):
    """What `/search` would answer to each query, in order."""

    results: list[SearchResponse]
