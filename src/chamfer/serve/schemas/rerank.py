"""``/rerank``, with the fields of Cohere's and Jina's endpoints."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from chamfer.serve.schemas.fields import WHOLE, ChosenMix, MinScore, Query, Text, Weighting

MOST_DOCUMENTS = 1000

# Tags of the two kinds of documents, so that an error is about the kind that was sent.
OBJECT, STRING = "object", "string"


class TextDocument(BaseModel):
    """A document to rank; its other fields are returned unchanged."""

    model_config = ConfigDict(extra="allow", strict=True)
    text: Text


Sent = Annotated[
    Annotated[Text, Tag(STRING)] | Annotated[TextDocument, Tag(OBJECT)],
    Discriminator(lambda sent: OBJECT if isinstance(sent, dict | TextDocument) else STRING),
]


class RerankRequest(BaseModel):
    """Texts to rank for a query, as Cohere's and Jina's endpoints take them; their other fields are ignored.

    `weights`, `mix` and `min_score` are as in `/search`.
    """

    model_config = ConfigDict(strict=True)
    query: Query
    documents: Annotated[list[Sent], Field(min_length=1, max_length=MOST_DOCUMENTS)]
    top_n: Annotated[
        Annotated[int, Field(ge=1), WHOLE] | None, Field(description="Number of documents to return; all by default.")
    ] = None
    return_documents: bool = False
    weights: Weighting = "current"
    mix: ChosenMix = None
    min_score: MinScore = 0.0
    model: Annotated[str | None, Field(description="Ignored: the server has one model.")] = None


class Ranked(BaseModel):
    """One of the documents that were sent."""

    index: Annotated[int, Field(description="Position among the documents that were sent, from 0.")]
    relevance_score: Annotated[float, Field(description="The score, as `/search` gives it: from 0 to 1.")]
    document: Annotated[dict[str, Any] | None, Field(description="The document, if `return_documents` is set.")] = None


class RerankResponse(BaseModel):
    """The documents that were sent, best first."""

    id: str
    model: str
    results: list[Ranked]
    meta: dict[str, Any]
    usage: dict[str, int]
