"""``/learn``."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from chamfer.learn.recipe_names import AUTO, NAMES
from chamfer.learn.verdict import Found
from chamfer.serve.schemas.fields import Identifier, MixFields, Query, Request, TokenFields, VersionName

MOST_JUDGED = 1000

# The recipes are the files of chamfer.learn.recipes, which no type checker sees.
Recipe = Literal[(AUTO, *NAMES)]  # type: ignore[valid-type]


class Judgement(Request):
    """A query, and documents that were judged relevant or not."""

    query: Query
    relevant: Annotated[list[Identifier], Field(min_length=1, max_length=MOST_JUDGED)]
    not_relevant: Annotated[list[Identifier], Field(max_length=MOST_JUDGED)] = []  # noqa: RUF012 -- pydantic copies it


class LearnRequest(Request):
    """Judgements to learn weights from."""

    judgements: Annotated[list[Judgement], Field(min_length=1, max_length=MOST_JUDGED)]
    recipe: Annotated[
        Recipe,
        Field(
            description="`auto` blends the zero-shot mix with everything that can be learnt, by the evidence for each; "
            "a recipe by name is used as it is."
        ),
    ] = AUTO
    name: VersionName = None


class RelevantDocument(BaseModel):
    """A relevant document's rank, from 1, with the weights in use and with learnt ones; null where it is not found."""

    id: str
    before: int | None
    after: int | None


class ComparedQuery(BaseModel):
    """A judged query, searched with the weights in use and with learnt ones."""

    query: str
    ndcg_before: Annotated[float, Field(description="nDCG@10 with the weights in use.")]
    ndcg_after: Annotated[float, Field(description="nDCG@10 with learnt weights.")]
    documents: Annotated[list[RelevantDocument], Field(description="Its relevant documents.")]


class Changed(TokenFields):
    """A token's weight before and after learning."""

    before: float
    after: float


class LearnResponse(BaseModel):
    """Learnt weights, stored as a new version; `POST /weights/use` switches to it."""

    version: int
    verdict: Annotated[
        Found,
        Field(
            description="Whether they are better than the weights in use, on queries that neither was fitted to and as "
            "far as chance allows; `not compared` if there are no such queries."
        ),
    ]
    sentence: Annotated[str, Field(description="The verdict in words, and what to do.")]
    left_out: Annotated[list[str], Field(description="Why some judgements were ignored.")]
    chosen: Annotated[str, Field(description="`blend`, or the recipe with its hyper-parameters.")]
    why: str
    queries: Annotated[int, Field(description="Number of queries that were learnt from.")]
    held_out: Annotated[
        bool,
        Field(
            description="Whether each query was compared with weights that were learnt without it (cross-validation). "
            "If not, the learnt weights were fitted to these very queries, which flatters them."
        ),
    ]
    known: Annotated[
        int,
        Field(
            description="Number of queries that the weights in use were learnt from; with `held_out`, they are not "
            "compared."
        ),
    ]
    better: Annotated[int, Field(description="Number of compared queries with a higher nDCG@10.")]
    unchanged: Annotated[int, Field(description="Number of compared queries with the same nDCG@10.")]
    worse: Annotated[int, Field(description="Number of compared queries with a lower nDCG@10.")]
    p_value: Annotated[
        float | None, Field(description="Of the paired randomisation test behind the verdict; null if not held out.")
    ]
    ndcg_before: Annotated[float, Field(description="Mean nDCG@10 of the compared queries with the weights in use.")]
    ndcg_after: Annotated[float, Field(description="The same with learnt weights.")]
    mix_before: Annotated[MixFields, Field(description="Mix of the weights in use.")]
    mix_after: Annotated[MixFields, Field(description="Mix of the learnt weights.")]
    adapter: Annotated[bool, Field(description="Whether the learnt weights also move query vectors.")]
    compared: list[ComparedQuery]
    changed: Annotated[list[Changed], Field(description="Changed tokens of the judged queries, largest change first.")]


class Running(BaseModel):
    """A step of the learning that runs now, whoever asked for it."""

    doing: Annotated[str, Field(description="What is done, such as `fitting weights`.")]
    done: Annotated[int, Field(description="Number of finished items of this step.")]
    of: Annotated[int, Field(description="Number of items of this step.")]
    seconds: Annotated[float, Field(description="How long it has been learning.")]


class LearningResponse(BaseModel):
    """What learning needs here, and what it is doing."""

    refusal: Annotated[str | None, Field(description="Why this server cannot learn, in one sentence; null if it can.")]
    least: Annotated[int, Field(description="Fewest judged queries that can be learnt from.")]
    usually_needed: Annotated[int, Field(description="Number of judged queries below which gains are usually small.")]
    most: Annotated[int, Field(description="Largest number of queries in a request to learn.")]
    running: Running | None


class JudgedQuery(Request):
    """A query, and documents that were judged relevant or not; there may be none."""

    query: Query
    relevant: Annotated[list[Identifier], Field(max_length=MOST_JUDGED)] = []  # noqa: RUF012 -- pydantic copies it
    not_relevant: Annotated[list[Identifier], Field(max_length=MOST_JUDGED)] = []  # noqa: RUF012


class CheckRequest(Request):
    """Judgements to check before learning from them."""

    judgements: Annotated[list[JudgedQuery], Field(max_length=MOST_JUDGED)]


class CheckedQuery(BaseModel):
    """What can be learnt from the judgements of a query."""

    query: str
    problem: Annotated[str | None, Field(description="Why nothing can be learnt from it; null if something can.")]
    unknown: Annotated[list[str], Field(description="Judged documents that the index does not hold.")]


class CheckResponse(BaseModel):
    """What can be learnt from judgements, in their order."""

    queries: list[CheckedQuery]
