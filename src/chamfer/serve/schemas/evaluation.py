"""``/evaluate``."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from chamfer.serve.schemas.fields import WHOLE, Request, Weighting
from chamfer.serve.schemas.learning import MOST_JUDGED, Judgement

MOST_EVALUATED = 1000
"""Largest number of queries of an evaluation; the command line has no limit."""

MOST_COMPARED = 6

# Tags of the two kinds of weights, so that an error is about the kind that was sent.
BY_NAME, BY_NUMBER = "weights by name", "weights by number"


def _kind(sent: Any) -> str:  # noqa: ANN401 -- whatever was sent
    is_number = (isinstance(sent, int | float) and not isinstance(sent, bool)) or (
        isinstance(sent, str) and sent.isascii() and sent.isdigit()  # in the query string
    )
    return BY_NUMBER if is_number else BY_NAME


WeightsReference = Annotated[
    Annotated[Weighting, Tag(BY_NAME)] | Annotated[Annotated[int, Field(ge=1), WHOLE], Tag(BY_NUMBER)],
    Discriminator(_kind),
    Field(description="`current`, the number of a version, or weights that are computed from the index."),
]
ComparedWeights = Annotated[
    list[WeightsReference], Field(min_length=1, max_length=MOST_COMPARED, description="The weights to compare.")
]
DEFAULT_COMPARED: list[Literal["uniform", "current"]] = ["uniform", "current"]

Baseline = Annotated[
    WeightsReference | None,
    Field(
        description="The weights to compare the others with; by default `uniform` if it is there, else the first ones."
    ),
]


class EvaluateRequest(Request):
    """Judgements to measure weights on."""

    judgements: Annotated[list[Judgement], Field(min_length=1, max_length=MOST_JUDGED)]
    weights: ComparedWeights = DEFAULT_COMPARED  # type: ignore[assignment]  # pydantic copies it
    baseline: Baseline = None


class MeasuredQuery(BaseModel):
    """A query that was measured."""

    id: str
    text: str


class MeasuredDifference(BaseModel):
    """A system against the baseline in one measure."""

    difference: Annotated[float, Field(description="Its mean minus the baseline's.")]
    interval: Annotated[
        tuple[float, float] | None, Field(description="95% interval of the difference; null with too few `units`.")
    ]
    p_value: Annotated[float, Field(description="Of a paired randomisation test.")]
    wins: Annotated[int, Field(description="Number of queries on which it is better.")]
    ties: int
    losses: int


class MovedDocument(BaseModel):
    """A document that overtook another one, or was overtaken."""

    id: str
    grade: Annotated[int | None, Field(description="Its grade for the query; null if it was not judged.")]
    before: Annotated[int | None, Field(description="Its rank with the baseline, from 1; null if it is not ranked.")]
    after: Annotated[int | None, Field(description="Its rank with the system.")]
    text: Annotated[str, Field(description="Title and text, up to the last match; empty if no score is explained.")]
    marks: Annotated[
        list[tuple[int, int, float]],
        Field(description="Matches: start and stop in code points, and strength from 0 to 1."),
    ]
    title: Annotated[str, Field(description="Empty for a document without a title, and if no score is explained.")]


class Gap(BaseModel):
    """What a word of the query, or a piece of evidence, says for the relevant document and against the other one."""

    text: str
    kind: Literal["word", "special", "evidence"]
    before: Annotated[float | None, Field(description="With the baseline; null if it has no token weights.")]
    after: Annotated[float | None, Field(description="With the system.")]


class Change(BaseModel):
    """Why a query was won or lost."""

    query: Annotated[str, Field(description="Id of the query.")]
    relevant: Annotated[MovedDocument, Field(description="The relevant document that gained or lost most.")]
    other: Annotated[
        MovedDocument | None, Field(description="The first document that overtook it, or that it overtook.")
    ]
    gaps: Annotated[list[Gap], Field(description="Why one of the two is ahead, largest change first.")]
    unexplained: Annotated[str, Field(description="Why gaps are missing; empty if they are all there.")]


class MeasuredSystem(BaseModel):
    """Weights, and how they rank the judged documents."""

    name: str
    label: str
    version: Annotated[int | None, Field(description="Number of the version; null for weights by name.")]
    headline: Annotated[str, Field(description="The comparison in plain words; empty for the baseline.")]
    measures: Annotated[dict[str, float], Field(description="Mean of each measure.")]
    against_baseline: Annotated[dict[str, MeasuredDifference], Field(description="By measure.")]
    values: Annotated[dict[str, list[float]], Field(description="Each measure for every query, in their order.")]
    changes: Annotated[list[Change], Field(description="The worst losses, worst first, and the best wins.")]
    answered: Annotated[int, Field(description="Number of queries with at least one document.")]


class EvaluationResponse(BaseModel):
    """What an evaluation needs here."""

    refusal: Annotated[
        str | None, Field(description="Why this server cannot evaluate, in one sentence; null if it can.")
    ]
    most_queries: Annotated[int, Field(description="Largest number of queries in a request to evaluate.")]
    most_weights: Annotated[int, Field(description="Largest number of weights in it.")]


class EvaluateResponse(BaseModel):
    """Weights side by side on the same judged queries."""

    dataset: Annotated[str, Field(description="Name of the index.")]
    split: Annotated[str, Field(description="Name of the judged file.")]
    queries: Annotated[int, Field(description="Number of queries that were measured.")]
    units: Annotated[
        int, Field(description="Number of queries that tests and intervals take as independent, see `grouped_by`.")
    ]
    grouped_by: Annotated[
        Literal["document", "text"],
        Field(
            description="What makes several queries one unit: their words or a relevant document, or their words only, "
            "where relevant documents connect more than half of the queries; then a note says so."
        ),
    ]
    left_out: Annotated[int, Field(description="Number of queries that some of the weights were learnt from.")]
    unknown: Annotated[int, Field(description="Number of judged documents that are not in the index.")]
    documents: Annotated[int, Field(description="Number of documents in the index.")]
    truncated: Annotated[dict[str, int], Field(description="Numbers of texts that are longer than the model reads.")]
    settings: Annotated[dict[str, Any], Field(description="Encoder, lengths, form, first stage and depth.")]
    notes: Annotated[list[str], Field(description="What to know before the numbers are believed.")]
    baseline: Annotated[str, Field(description="Name of the system that the others are compared with.")]
    main: Annotated[str, Field(description="The measure that tells whether a query is won or lost.")]
    measures: Annotated[dict[str, str], Field(description="What each measure measures, in plain words.")]
    judged: list[MeasuredQuery]
    systems: list[MeasuredSystem]
    seconds: float
