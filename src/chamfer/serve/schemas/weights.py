"""``/weights``."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from chamfer.kernels.limits import LARGEST
from chamfer.serve.schemas.fields import WHOLE, MixFields, Request, VersionName, Weighting
from chamfer.weights.zero_shot import ZeroShotName


class ListedVersion(BaseModel):
    """A version of the weights."""

    version: int
    name: str
    made: Annotated[str, Field(description="Creation time, in UTC.")]
    recipe: Annotated[str | None, Field(description="How the weights were made, if known.")]
    mix: Annotated[MixFields, Field(description="How much evidence beside the tokens counts.")]


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


class WeightedToken(BaseModel):
    """A token of the vocabulary."""

    token: str
    weight: float


class TokensResponse(BaseModel):
    """Some tokens of the weight table."""

    version: int
    tokens: list[WeightedToken]
