"""``/explain``."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from chamfer.search.hits import DEFAULT_K
from chamfer.serve.schemas.evaluation import WeightsReference
from chamfer.serve.schemas.fields import (
    WHOLE,
    BestPassage,
    ChosenMix,
    Filter,
    Identifier,
    MixFields,
    Notes,
    Partial,
    ProbablyNothing,
    Query,
    ReadCharacters,
    Request,
    Truncated,
    UsedVersion,
)
from chamfer.weights.mix import Evidence

MOST_EXPLAINED = 200


class ExplainRequest(Request):
    """A query, and the documents whose scores to explain."""

    query: Query
    ids: Annotated[
        list[Identifier] | None,
        Field(
            min_length=1,
            max_length=MOST_EXPLAINED,
            description="Document ids; by default the top `k` with the chosen weights, and with uniform ones "
            "without evidence.",
        ),
    ] = None
    k: Annotated[
        int,
        Field(
            ge=1, le=MOST_EXPLAINED // 2, description="Number of top documents with each weighting, if `ids` is absent."
        ),
        WHOLE,
    ] = DEFAULT_K
    weights: WeightsReference = "current"
    mix: ChosenMix = None
    where: Filter = None


class QueryToken(BaseModel):
    """One token of the query."""

    token: Annotated[str, Field(description="The token, as the tokenizer spells it.")]
    text: Annotated[str, Field(description="The word piece that it spells.")]
    word: Annotated[str, Field(description="The whole word.")]
    starts_word: bool
    special: Annotated[bool, Field(description="Whether it carries no text: `[CLS]`, `[MASK]`, a marker.")]
    weight: Annotated[float, Field(description="Its weight in this query.")]
    in_table: Annotated[
        float, Field(description="Its weight in the table; learnt weights may add a part that depends on context.")
    ]


class MatchedToken(BaseModel):
    """What one query token matched in one document."""

    matched: Annotated[str, Field(description="The document token, as the tokenizer spells it.")]
    word: Annotated[str, Field(description="The document word that the matched token belongs to.")]
    span: Annotated[
        tuple[int, int] | None,
        Field(description="Range of that token in the text, in Unicode code points; null if it carries no text."),
    ]
    distance: Annotated[float, Field(description="Distance to the matched token, before weighting.")]
    contribution: Annotated[float, Field(description="What the match contributes to the score.")]


class EvidencePart(BaseModel):
    """What one piece of evidence beside the tokens adds."""

    name: Evidence
    value: Annotated[float, Field(description="BM25's score, or the cosine of mean vectors.")]
    factor: Annotated[float, Field(description="Its factor in the mix.")]
    perfect: Annotated[float, Field(description="The value for the query's own text, a perfect match.")]
    contribution: Annotated[float, Field(description="What it contributes to the score.")]


class DistanceRange(BaseModel):
    """The distances of token vectors at which a match contributes nothing, and everything."""

    unrelated: float
    equal: float


class ExplainedDocument(BaseModel):
    """A document, its matches, one for each token of the query, and the evidence that the mix counts."""

    id: str
    score: Annotated[float, Field(description="From 0 to 1, a perfect match: the sum of all contributions.")]
    special_share: Annotated[float, Field(description="Share of the score that comes from special tokens.")]
    title: Annotated[str, Field(description="Empty for a document without a title.")]
    text: Annotated[str, Field(description="Title and text, joined by a space, which spans are ranges of.")]
    passage: BestPassage = None
    metadata: dict[str, Any]
    matches: list[MatchedToken]
    uniform_matches: Annotated[
        list[MatchedToken] | None,
        Field(
            description="The matches with uniform weights, which the adapter of the chosen weights does not move; "
            "null if they have none, because `matches` are then the same but for the weights."
        ),
    ]
    evidence: list[EvidencePart]
    distances: Annotated[
        DistanceRange, Field(description="Between which distances matches count; with it, other weights can be tried.")
    ]


class ExplainResponse(Partial):
    """Explained scores, best document first. Documents without tokens have no score and are left out."""

    query: str
    form: Literal["l2", "cosine"]
    weights: UsedVersion
    query_was_truncated: Truncated
    query_read: ReadCharacters
    probably_nothing: ProbablyNothing
    notes: Notes
    mix: Annotated[MixFields, Field(description="How much evidence beside the tokens counts.")]
    tokens: list[QueryToken]
    documents: list[ExplainedDocument]
