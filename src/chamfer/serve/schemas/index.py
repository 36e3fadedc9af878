"""``/index``."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from chamfer.serve.schemas.fields import Notes, Partial

Value = bool | int | float | str


class FieldValue(BaseModel):
    """A value of a metadata field."""

    value: Value
    documents: Annotated[int, Field(description="Number of documents that have it.")]


class MetadataField(BaseModel):
    """A metadata field, as filters see it."""

    name: Annotated[str, Field(description="Its name; those of nested objects are joined by dots.")]
    kind: Annotated[
        Literal["text", "date", "number", "boolean", "mixed"],
        Field(description="`date` is text of which every value is a day, with or without a time."),
    ]
    documents: Annotated[int, Field(description="Number of documents that have it.")]
    several: Annotated[bool, Field(description="Whether some documents have several values, as in a list.")]
    distinct: Annotated[int, Field(description="Number of distinct values.")]
    exact: Annotated[
        bool, Field(description="Whether `distinct` is exact; otherwise there are at least that many values.")
    ]
    values: Annotated[
        list[FieldValue],
        Field(
            description="The most frequent values, ties in order of value, with exact counts. Values that are rarer "
            "than one that was not counted are left out, and so are those of a field of unique values."
        ),
    ]
    lowest: Annotated[Value | None, Field(description="The lowest number or date; null for other kinds.")]
    highest: Annotated[Value | None, Field(description="The highest number or date; null for other kinds.")]


class IndexResponse(Partial):
    """What the index holds. If shards are missing, their documents are not counted."""

    name: Annotated[str, Field(description="Name of the index folder.")]
    documents: Annotated[int, Field(description="Number of documents.")]
    passages: Annotated[
        int | None, Field(description="Number of passages that they are split into; null without passages.")
    ]
    encoder: Annotated[str, Field(description="Name of the model.")]
    fields: Annotated[list[MetadataField], Field(description="The metadata fields, the most frequent one first.")]
    fields_are_complete: Annotated[bool, Field(description="Whether these are all fields; at most 100 are listed.")]
    notes: Notes
    example_queries: Annotated[
        list[str],
        Field(description="Queries to try: titles of documents, or beginnings of texts; empty if none would do."),
    ]
