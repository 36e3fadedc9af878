"""``/health``."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field


class HealthResponse(BaseModel):
    """The server is up."""

    status: Annotated[Literal["ok", "partial"], Field(description="`partial`: some shards cannot be reached.")]
    missing_shards: Annotated[list[str], Field(description="Names of the shards that cannot be reached.")] = []
    index: Annotated[str, Field(description="Name of the index folder.")]
    documents: int
    encoder: str
    weights: Annotated[int, Field(description="Version of the weights in use.")]
    version: Annotated[str, Field(description="Version of chamfer.")]
