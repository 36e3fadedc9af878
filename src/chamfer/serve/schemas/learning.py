"""``/learn``."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from chamfer.learn.recipe_names import AUTO, NAMES
from chamfer.serve.schemas.fields import Identifier, MixFields, Query, Request, VersionName

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


class Moved(BaseModel):
    """A relevant document's rank among the candidates of its query, from 1, before and after learning."""

    query: str
    id: str
    before: int
    after: int


class Changed(BaseModel):
    """A token's weight before and after learning."""

    token: str
    before: float
    after: float


class LearnResponse(BaseModel):
    """Learnt weights, stored as a new version; `POST /weights/use` switches to it."""

    version: int
    left_out: Annotated[list[str], Field(description="Why some judgements were ignored.")]
    chosen: Annotated[str, Field(description="`blend`, or the recipe with its hyper-parameters.")]
    why: str
    queries: Annotated[int, Field(description="Number of queries that were learnt from.")]
    ndcg_before: Annotated[float, Field(description="nDCG@10 over the judged queries with the weights in use.")]
    ndcg_after: Annotated[float, Field(description="The same with the learnt weights.")]
    mix_before: Annotated[MixFields, Field(description="Mix of the weights in use.")]
    mix_after: Annotated[MixFields, Field(description="Mix of the learnt weights.")]
    adapter: Annotated[bool, Field(description="Whether the learnt weights also move query vectors.")]
    moved: list[Moved]
    changed: Annotated[list[Changed], Field(description="Changed tokens of the judged queries, largest change first.")]
