"""What requests and answers look like; the OpenAPI document is made of these."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, StringConstraints, Tag

from chamfer.learn.recipe_names import AUTO, NAMES
from chamfer.search.hits import DEFAULT_K

MOST_QUERY_CHARACTERS = 8000
MOST_CHARACTERS = 100_000
MOST_DOCUMENTS = 1000
MOST_HITS = 1000
MOST_EXPLAINED = 200
MOST_MARKED = 1000


def _whole(number: Any) -> Any:  # noqa: ANN401 -- whatever was sent
    """JSON knows one kind of number: 5.0 is whole."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


WHOLE = BeforeValidator(_whole)

# The formats tell what a text must be beyond its length: something to look for, something that can be parsed.
Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MOST_QUERY_CHARACTERS,
        description="What is looked for: at least one word.",
        json_schema_extra={"format": "query"},
    ),
]
Text = Annotated[str, StringConstraints(max_length=MOST_CHARACTERS)]
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Filter = Annotated[
    Annotated[str, Field(max_length=2000, json_schema_extra={"format": "filter"})] | None,
    Field(description="Only documents that this holds for, as in `year > 2020`."),
]
Weighting = Annotated[
    Literal["current", "uniform", "idf", "idf-soft"],
    Field(description="`current`: the version in use. The others are made from the index."),
]


# The recipes are the files of chamfer.learn.recipes, which no type checker sees.
LearnRecipe = Literal[(AUTO, *NAMES)]  # type: ignore[valid-type]
VersionName = Annotated[str | None, Field(min_length=1, max_length=200, description="What to call the version.")]


class Request(BaseModel):
    """What a client sends; a field that nobody knows is an error, because it is a typing mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Message(BaseModel):
    """What went wrong, in one sentence."""

    message: str


class SearchRequest(Request):
    """A search of the index."""

    query: Query
    k: Annotated[int, Field(ge=1, le=MOST_HITS, description="How many documents to find."), WHOLE] = DEFAULT_K
    weights: Weighting = "current"
    where: Filter = None
    normalise: Annotated[bool, Field(description="Divide by the total weight: 0 is a perfect match.")] = False


class Found(BaseModel):
    """A document that was found; a higher score is closer."""

    id: str
    score: Annotated[float | None, Field(description="None for a document without tokens.")]
    text: str
    metadata: dict[str, Any]


class Partial(BaseModel):
    """An answer of an index that may lie in shards; one that is cut short says so."""

    partial: Annotated[
        bool, Field(description="Some shards gave no answer, so documents are missing that they hold.")
    ] = False
    missing_shards: Annotated[list[str], Field(description="Their names.")] = []


class SearchResponse(Partial):
    """The best documents, the best first."""

    hits: list[Found]
    query_was_cut: Annotated[bool, Field(description="The model saw only the beginning of the query.")]
    weights: Annotated[int | None, Field(description="The version of the weights, if they were the current ones.")]


class TextDocument(BaseModel):
    """A document to rank; other fields are given back as they came."""

    model_config = ConfigDict(extra="allow", strict=True)
    text: Text


class RerankRequest(BaseModel):
    """Texts to rank for a query, as Cohere's and Jina's endpoints take them; their other fields are ignored."""

    model_config = ConfigDict(strict=True)
    query: Query
    documents: Annotated[list[Text | TextDocument], Field(min_length=1, max_length=MOST_DOCUMENTS)]
    top_n: Annotated[
        Annotated[int, Field(ge=1), WHOLE] | None, Field(description="How many to give back; all if not given.")
    ] = None
    return_documents: bool = False
    model: Annotated[str | None, Field(description="Not used: the server has one model.")] = None


class Ranked(BaseModel):
    """One of the documents that were sent."""

    index: Annotated[int, Field(description="Which of the documents it is, from 0.")]
    relevance_score: Annotated[float, Field(description="From 0 to 1, 1 for a perfect match on every token.")]
    document: Annotated[dict[str, Any] | None, Field(description="If asked for.")] = None


class RerankResponse(BaseModel):
    """The documents that were sent, the best first."""

    id: str
    model: str
    results: list[Ranked]
    meta: dict[str, Any]
    usage: dict[str, int]


class ExplainRequest(Request):
    """A query, and documents whose scores are to be taken apart."""

    query: Query
    ids: Annotated[
        list[Identifier] | None,
        Field(min_length=1, max_length=MOST_EXPLAINED, description="If not given: the best `k`, with both weightings."),
    ] = None
    k: Annotated[
        int, Field(ge=1, le=MOST_EXPLAINED // 2, description="Best by the weights, and best by uniform."), WHOLE
    ] = DEFAULT_K
    weights: Weighting = "current"
    where: Filter = None


class QueryToken(BaseModel):
    """One token of the query."""

    token: Annotated[str, Field(description="As the tokenizer spells it.")]
    text: Annotated[str, Field(description="The piece of a word that it spells.")]
    word: Annotated[str, Field(description="The whole word.")]
    starts_word: bool
    special: Annotated[bool, Field(description="It stands for no text: `[CLS]`, `[MASK]`, a marker.")]
    weight: Annotated[float, Field(description="What it counts here.")]
    in_table: Annotated[
        float, Field(description="Its weight wherever it stands; learnt weights may add context to it.")
    ]


class MatchedToken(BaseModel):
    """What one query token matched in one document."""

    word: Annotated[str, Field(description="The word of the document that the matched token is a piece of.")]
    span: Annotated[
        tuple[int, int] | None,
        Field(description="Where that token is in the text, in Unicode code points; none if it stands for no text."),
    ]
    distance: Annotated[float, Field(description="Does not depend on weights.")]
    contribution: Annotated[float, Field(description="What it adds to the score: -weight * distance / query tokens.")]


class ExplainedDocument(BaseModel):
    """A document and its matches, one for each token of the query."""

    id: str
    score: Annotated[float, Field(description="The sum of all contributions.")]
    special_share: Annotated[float, Field(description="The share of the score that special tokens carry.")]
    text: str
    metadata: dict[str, Any]
    matches: list[MatchedToken]


class ExplainResponse(Partial):
    """Scores taken apart, the best document first. Documents without tokens have no score and are left out."""

    query: str
    form: Literal["l2", "cosine"]
    weights: Annotated[int | None, Field(description="The version of the weights, if they were the current ones.")]
    query_was_cut: Annotated[bool, Field(description="The model saw only the beginning of the query.")]
    tokens: list[QueryToken]
    documents: list[ExplainedDocument]


class Version(BaseModel):
    """Weights that are, or were, in use."""

    version: int
    name: str
    made: Annotated[str, Field(description="When, in UTC.")]
    recipe: Annotated[str | None, Field(description="How they were made, if known.")]


class WeightsResponse(BaseModel):
    """The versions of the weights, the newest first."""

    version: Annotated[int, Field(description="The one in use.")]
    versions: list[Version]


class NamedWeights(Request):
    """Weights that are made from the index."""

    weights: Literal["uniform", "idf", "idf-soft"]
    name: VersionName = None


class ChangedTokens(Request):
    """The weights in use, or others, with some tokens changed."""

    tokens: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]],
        Field(min_length=1, max_length=100_000, description="Weights by token; all others stay as they are."),
    ]
    base: Weighting = "current"
    name: VersionName = None


# How the two are told apart, so that what is wrong with one is not told as a lack of the other.
KINDS = ("by name", "by token")
NewWeights = Annotated[
    Annotated[NamedWeights, Tag(KINDS[0])] | Annotated[ChangedTokens, Tag(KINDS[1])],
    Discriminator(lambda sent: KINDS["tokens" in sent if isinstance(sent, dict) else hasattr(sent, "tokens")]),
]


class UseRequest(Request):
    """A version to use from now on."""

    version: Annotated[int, Field(ge=1), WHOLE]


class WeighedToken(BaseModel):
    """A token of the vocabulary."""

    token: str
    weight: float


class TokensResponse(BaseModel):
    """Some tokens of the weight table."""

    version: int
    tokens: list[WeighedToken]


class Judgement(Request):
    """A query, and documents that were marked for it."""

    query: Query
    relevant: Annotated[list[Identifier], Field(min_length=1, max_length=MOST_MARKED)]
    not_relevant: Annotated[list[Identifier], Field(max_length=MOST_MARKED)] = []


class LearnRequest(Request):
    """Marks to learn weights from."""

    judgements: Annotated[list[Judgement], Field(min_length=1, max_length=MOST_MARKED)]
    recipe: Annotated[
        LearnRecipe,
        Field(description="`auto` keeps uniform weights unless something beats them significantly."),
    ] = "prior"
    name: VersionName = None


class Moved(BaseModel):
    """A relevant document's rank among the candidates of its query, from 1, with the weights in use and the learnt."""

    query: str
    id: str
    before: int
    after: int


class Changed(BaseModel):
    """A token's weight, in use and learnt."""

    token: str
    before: float
    after: float


class LearnResponse(BaseModel):
    """Learnt weights are a new version, which is not used before `/weights/use` says so."""

    version: int
    left_out: Annotated[list[str], Field(description="Why some marks taught nothing.")]
    chosen: Annotated[str, Field(description="The recipe that was best on held-out queries, or `uniform`.")]
    why: str
    queries: Annotated[int, Field(description="How many could be learnt from.")]
    ndcg_before: Annotated[float, Field(description="nDCG@10 over the marked queries with the weights in use.")]
    ndcg_after: float
    moved: list[Moved]
    changed: Annotated[list[Changed], Field(description="Tokens of the marked queries, the largest change first.")]


class HealthResponse(BaseModel):
    """The server is up."""

    status: Annotated[Literal["ok", "partial"], Field(description="`partial`: some shards cannot be reached.")]
    missing_shards: Annotated[list[str], Field(description="Their names.")] = []
    index: Annotated[str, Field(description="The name of its folder.")]
    documents: int
    encoder: str
    weights: int
    version: Annotated[str, Field(description="Of chamfer.")]
