"""``/documents``."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, StringConstraints
from pydantic_core import PydanticCustomError

from chamfer.serve.schemas.fields import Identifier, Request, Text

MOST_DOCUMENTS, MOST_DELETED = 1000, 10_000
MOST_DOCUMENT_CHARACTERS = 1_000_000


# The patterns say that the index cannot store a NUL; chamfer.index.texts refuses it.
_NO_NUL = "^[^\\u0000]*$"
_LETTER = "[^\\u0000-\\u0020\\s]"
_SOME_TEXT = f"^[^\\u0000]*{_LETTER}[^\\u0000]*$"


def _some_text(text: str) -> str:
    if not re.search(_LETTER, text):
        raise PydanticCustomError("no_text", "must not be blank")
    return text


class NewDocument(Request):
    """A document to store."""

    id: Annotated[
        Identifier,
        Field(
            description="Its id; a document of the index that has the same id is replaced.",
            json_schema_extra={"pattern": _NO_NUL},
        ),
    ]
    text: Annotated[
        str,
        StringConstraints(min_length=1, max_length=MOST_DOCUMENT_CHARACTERS),
        AfterValidator(_some_text),
        Field(description="Its text.", json_schema_extra={"pattern": _SOME_TEXT}),
    ]
    title: Annotated[
        Text, Field(description="Its title, searched with the text.", json_schema_extra={"pattern": _NO_NUL})
    ] = ""
    metadata: Annotated[dict[str, Any], Field(description="Values by name, which filters can compare.")] = {}  # noqa: RUF012 -- pydantic copies it


class PutRequest(Request):
    """Documents to add, or to replace those that have the same ids: all of them, or none."""

    documents: Annotated[
        list[NewDocument], Field(min_length=1, max_length=MOST_DOCUMENTS, description="Each id at most once.")
    ]


class PutResponse(BaseModel):
    """What was stored; searches find it from now on."""

    added: Annotated[int, Field(description="Number of new documents.")]
    replaced: Annotated[int, Field(description="Number of documents that replaced others.")]
    unchanged: Annotated[int, Field(description="Number of documents that the index already held as they are.")]
    truncated: Annotated[int, Field(description="Number of texts that the model read only the beginning of.")]
    unread: Annotated[int, Field(description="Number of texts in a script that the model does not know.")]
    documents: Annotated[int, Field(description="Number of documents in the index now.")]


class DeleteRequest(Request):
    """Documents to delete."""

    ids: Annotated[list[Identifier], Field(min_length=1, max_length=MOST_DELETED)]


class DeleteResponse(BaseModel):
    """What was deleted; searches no longer find it."""

    deleted: Annotated[int, Field(description="Number of documents that were deleted.")]
    unknown: Annotated[list[str], Field(description="Ids that the index did not hold; they are no error.")]
    documents: Annotated[int, Field(description="Number of documents in the index now.")]
