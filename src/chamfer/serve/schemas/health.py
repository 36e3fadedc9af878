"""``/health``."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

Status = Literal["ok", "partial", "stale", "failing"]


class HealthResponse(BaseModel):
    """The state of the server. The status code is 503 if `status` is `failing`, and 200 otherwise."""

    status: Annotated[
        Status,
        Field(
            description="`partial`: some shards cannot be reached. `stale`: a newer commit of the index cannot be "
            "opened, or the server cannot tell, so the previous one is served. `failing`: use another server."
        ),
    ]
    problem: Annotated[str | None, Field(description="What is wrong, if the status is `stale` or `failing`.")] = None
    missing_shards: Annotated[list[str], Field(description="Names of the shards that cannot be reached.")] = []
    index: Annotated[str, Field(description="Name of the index folder.")]
    documents: int
    age_seconds: Annotated[
        float, Field(description="Seconds since what is served was last known to be the newest state of the index.")
    ]
    encoder: str
    weights: Annotated[int, Field(description="Version of the weights in use.")]
    version: Annotated[str, Field(description="Version of chamfer.")]
