"""Fields, limits and errors that several requests share."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from chamfer.data.documents import Passage
from chamfer.weights.mix import LARGEST_FACTOR, Mix
from chamfer.weights.zero_shot import ZeroShotName

MOST_QUERY_CHARACTERS = 8000
MOST_CHARACTERS = 100_000

UNKNOWN_FIELD = "unknown_field"
"""Type of the validation error that names a request's known fields."""


def _whole(number: Any) -> Any:  # noqa: ANN401 -- whatever was sent
    """JSON has one type of number, so 5.0 is an integer too."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


WHOLE = BeforeValidator(_whole)

# The formats state what a text needs beyond its length: a query has a token, a filter can be parsed.
Query = Annotated[
    str,
    Field(
        max_length=MOST_QUERY_CHARACTERS,
        description="Query text; punctuation alone is text too, spaces alone are not.",
        json_schema_extra={"format": "query"},
    ),
]
Text = Annotated[str, StringConstraints(max_length=MOST_CHARACTERS)]
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Filter = Annotated[
    Annotated[str, Field(max_length=2000, json_schema_extra={"format": "filter"})] | None,
    Field(description="Filter on metadata, as in `year > 2020`."),
]
Weighting = Annotated[
    Literal["current", ZeroShotName],
    Field(description="`current` is the version in use; the others are computed from the index."),
]
Factor = Annotated[float, Field(ge=0, le=LARGEST_FACTOR, allow_inf_nan=False)]


class MixFields(BaseModel):
    """How much evidence beside the tokens counts."""

    model_config = ConfigDict(extra="forbid", strict=True)
    lexical: Annotated[Factor, Field(description="Factor of BM25's score: exact terms.")] = 0.0
    pooled: Annotated[Factor, Field(description="Factor of the cosine of mean vectors: overall meaning.")] = 0.0

    @classmethod
    def of(cls, mix: Mix) -> Self:
        """The fields of a mix."""
        return cls(lexical=mix.lexical, pooled=mix.pooled)

    @property
    def mix(self) -> Mix:
        """The mix that the fields hold."""
        return Mix(self.lexical, self.pooled)


ChosenMix = Annotated[
    MixFields | None, Field(description="Mix to use for this request instead of that of the weights.")
]
VersionName = Annotated[str | None, Field(min_length=1, max_length=200, description="Name for the new version.")]
UsedVersion = Annotated[int | None, Field(description="Version of the weights; null for weights by name.")]
ProbablyNothing = Annotated[
    bool | None,
    Field(
        description="Whether the best document scores no better than unrelated ones do; null if that is not known: "
        "of an index of fewer than 20 documents, on later pages, with a `mix` of the request, and until the server has "
        "estimated what unrelated ones score, which it begins with the first search with these weights."
    ),
]
Score = Annotated[float, Field(description="From 0, which is no match, to 1, a perfect one.")]
MinScore = Annotated[float, Field(ge=0, le=1, description="Leave out documents that score less.")]
Truncated = Annotated[bool, Field(description="Whether the query was longer than the model reads, and was truncated.")]
ReadCharacters = Annotated[
    int | None,
    Field(
        description="Number of characters of the query that the model read, in Unicode code points, if it was "
        "truncated; null if the model read all of it. BM25 counts the words of all of it in any case."
    ),
]

Notes = Annotated[
    list[str],
    Field(
        description="Warnings, in one sentence each: about the filter, such as an unknown field; about the query, such "
        "as a script that the model does not know; and if the answer is `stale`."
    ),
]


class TokenFields(BaseModel):
    """A token of the vocabulary."""

    token: Annotated[str, Field(description="The token, as the tokenizer spells it.")]
    text: Annotated[str, Field(description="The word, or the piece of one, that it spells.")]
    starts_word: Annotated[bool, Field(description="Whether it begins a word; otherwise it continues one.")]


class PassageFields(BaseModel):
    """Which part of a document's text a passage is."""

    number: Annotated[int, Field(description="Its number in the document, from 1.")]
    of: Annotated[int, Field(description="The number of passages of the document.")]
    start: Annotated[
        int, Field(description="Where it begins in the text of the document, without the title, in code points.")
    ]
    stop: Annotated[int, Field(description="Where it ends.")]

    @classmethod
    def of_passage(cls, passage: Passage | None) -> Self | None:
        """The fields of a passage."""
        return None if passage is None else cls(**passage._asdict())


BestPassage = Annotated[
    PassageFields | None,
    Field(description="The best passage of the document, which `text` is; null in an index without passages."),
]


class Request(BaseModel):
    """A request body; an unknown field is an error, because it is most likely a typo."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, sent: Any) -> Any:  # noqa: ANN401 -- whatever was sent
        """Name the known fields, which pydantic does not."""
        unknown = [name for name in sent if name not in cls.model_fields] if isinstance(sent, dict) else []
        if unknown:
            known = ", ".join(sorted(cls.model_fields, key=lambda name: not cls.model_fields[name].is_required()))
            told = "is not a known field; the known fields are {known}"
            raise PydanticCustomError(UNKNOWN_FIELD, told, {"name": unknown[0], "known": known})
        return sent


class Message(BaseModel):
    """What went wrong, in one sentence."""

    message: str
    position: Annotated[
        int | None, Field(description="Where in `where` the mistake is, from 1, if the filter cannot be parsed.")
    ] = None


class Partial(BaseModel):
    """A response that may lack documents of shards that did not answer, or be out of date, and says so."""

    stale: Annotated[
        bool,
        Field(description="Whether the index may have changed since: `problem` of `/health` says what is wrong."),
    ] = False
    partial: Annotated[
        bool, Field(description="Whether some shards did not answer, so that their documents are missing.")
    ] = False
    missing_shards: Annotated[list[str], Field(description="Names of the shards that did not answer.")] = []
