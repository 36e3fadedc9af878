"""``/weights``."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from chamfer.kernels.limits import LARGEST
from chamfer.learn.verdict import Found
from chamfer.serve.schemas.fields import WHOLE, MixFields, Request, TokenFields, VersionName, Weighting
from chamfer.serve.versions import VersionOrigin
from chamfer.weights.token_origins import TokenOrigin
from chamfer.weights.zero_shot import ZeroShotName

DocumentCount = Annotated[
    int, Field(description="Number of documents that contain it; of passages, in an index of passages.")
]


class ChangedToken(TokenFields):
    """A token whose weight differs between two versions."""

    before: float
    after: float
    documents: DocumentCount


class Difference(BaseModel):
    """How a version differs from another one, over the tokens that occur in the index; see also the mix of both."""

    base: Annotated[int, Field(description="The version that it is compared with.")]
    heavier: Annotated[int, Field(description="Number of tokens that weigh more.")]
    lighter: Annotated[int, Field(description="Number of tokens that weigh less.")]
    largest: Annotated[
        list[ChangedToken], Field(description="The largest changes; of equal ones, those of frequent tokens.")
    ]
    context: Annotated[bool, Field(description="Whether weights depend on the other words of a query in another way.")]
    adapter: Annotated[bool, Field(description="Whether query vectors are moved in another way.")]


class ListedVersion(BaseModel):
    """A version of the weights."""

    version: int
    name: str
    made: Annotated[str, Field(description="Creation time, in UTC.")]
    recipe: Annotated[str | None, Field(description="How the weights were made, if known.")]
    origin: Annotated[
        VersionOrigin,
        Field(description="What made it: `computed` from the index, `learnt`, `edited` by hand, or `given` in a file."),
    ]
    edited_from: Annotated[
        int | str | None,
        Field(description="The version, or the name of the weights, that was edited; null if none was."),
    ]
    learnt_from: Annotated[
        int | None, Field(description="Number of judged queries that it was learnt from; null if there were none.")
    ]
    verdict: Annotated[
        Found | None,
        Field(description="Whether it was better than the weights in use when it was learnt here; null if unknown."),
    ]
    mix: Annotated[MixFields, Field(description="How much evidence beside the tokens counts.")]
    difference: Annotated[
        Difference | None, Field(description="How it differs from the version before it; null for the first.")
    ]


class WeightsResponse(BaseModel):
    """The versions of the weights, newest first."""

    version: Annotated[int, Field(description="The version in use.")]
    versions: list[ListedVersion]


class NamedWeights(Request):
    """Weights that are computed from the index."""

    weights: ZeroShotName
    name: VersionName = None


class ChangedTokens(Request):
    """The weights in use, or others, with some tokens or the mix changed."""

    # The rule that is checked below, for the description of the server.
    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"tokens": {"minProperties": 1}}},
                {"properties": {"mix": {"type": "object"}}, "required": ["mix"]},
            ]
        }
    )
    tokens: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]],
        Field(max_length=100_000, description="New weights by token; other tokens keep theirs."),
    ]
    mix: Annotated[MixFields | None, Field(description="New mix; that of the weights by default.")] = None
    base: Weighting = "current"
    name: VersionName = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.tokens and self.mix is None:
            raise ValueError("changes nothing; give at least one token, or a mix")
        return self


# Tags of the two kinds of requests, so that an error is about the kind that was sent.
BY_NAME, BY_TOKEN = "by name", "by token"
NewWeights = Annotated[
    Annotated[NamedWeights, Tag(BY_NAME)] | Annotated[ChangedTokens, Tag(BY_TOKEN)],
    Discriminator(
        lambda sent: BY_TOKEN if ("tokens" in sent if isinstance(sent, dict) else hasattr(sent, "tokens")) else BY_NAME
    ),
]


class UseRequest(Request):
    """The version to switch to."""

    version: Annotated[int, Field(ge=1), WHOLE]


class WeightedToken(TokenFields):
    """A token, what it weighs and why."""

    weight: float
    documents: DocumentCount
    origin: Annotated[
        TokenOrigin,
        Field(
            description="Where the weight comes from: `counted` from document frequencies, `learnt`, `edited` by hand, "
            "`special` for tokens without text, `unseen` for tokens in no document, `uniform` if all weigh the same, "
            "or `given` in a file."
        ),
    ]
    before: Annotated[
        float | None,
        Field(
            description="What it weighed before it was edited, or without judged queries if it was learnt; null if it "
            "was neither, or if nobody recorded it."
        ),
    ]


class TokensResponse(BaseModel):
    """Some tokens of the weight table."""

    version: int
    tokens: list[WeightedToken]
    read: Annotated[
        list[list[WeightedToken]],
        Field(description="What the tokenizer reads in `contains`: the tokens of each word, in order."),
    ]


class WeightBin(BaseModel):
    """The tokens that weigh from `least` to less than `below`."""

    least: Annotated[float | None, Field(description="Null for the first bin if it holds all smaller weights.")]
    below: Annotated[float | None, Field(description="Null for the last bin if it holds all larger weights.")]
    tokens: Annotated[int, Field(description="Number of tokens.")]


class DistributionResponse(BaseModel):
    """How the weights in use are distributed over the tokens that occur in the index, special ones left out."""

    version: int
    documents: Annotated[int, Field(description="Number of documents; of passages, in an index of passages.")]
    passages: Annotated[bool, Field(description="Whether passages are counted instead of documents.")]
    tokens: Annotated[int, Field(description="Number of tokens that occur.")]
    middle: Annotated[
        tuple[float, float] | None,
        Field(description="The weights that half of the tokens lie between; null if none occurs."),
    ]
    bins: Annotated[list[WeightBin], Field(description="A histogram, lightest first.")]
    frequent: Annotated[int, Field(description="Number of most frequent words that the following are among.")]
    heaviest: Annotated[list[WeightedToken], Field(description="The heaviest of the most frequent words.")]
    lightest: Annotated[list[WeightedToken], Field(description="The lightest of them.")]


class ChangesResponse(Difference):
    """How a version differs from the one in use, or from another one."""

    version: int
    mix: Annotated[MixFields, Field(description="Its mix.")]
    base_mix: Annotated[MixFields, Field(description="The mix of the version that it is compared with.")]
