"""What the routes share: JSON responses, and names fit for the public."""

from pydantic import BaseModel
from starlette.responses import Response


def as_json(answer: BaseModel) -> Response:
    """A response model as JSON. It was validated when it was made, and FastAPI would validate it again."""
    return Response(answer.model_dump_json(), media_type="application/json")


def public_name(model: str) -> str:
    """The last part of a model's name or path, which does not reveal where the server keeps its files."""
    return model.rstrip("/").rpartition("/")[2]
