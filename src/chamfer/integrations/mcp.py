"""MCP: a server that lets agents search an index, explain a result and read a document."""

import functools
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

from chamfer import Index, InputError, __version__
from chamfer.errors import InputWarning
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.stages import AUTO
from chamfer.weights.names import DEFAULT_WEIGHTS
from chamfer.weights.token_weights import TokenWeights

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations
    from pydantic import BaseModel, Field
except ImportError as error:
    raise InputError("chamfer.integrations.mcp needs the MCP SDK; run: pip install 'chamfer[mcp]'") from error

if TYPE_CHECKING:
    from chamfer.search.searcher import Searcher

# An agent's context is short: a passage of each hit, and a document in parts.
SNIPPET, PART = 600, 20_000

# Field names to list, and fields of a document to return.
SHOWN_FIELDS = 30

# Characters of a metadata value: in a search, which returns those of many documents, and of one that is read.
SHORT_VALUE, LONG_VALUE = 200, 2000

READING = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Metadata = Annotated[dict[str, Any], Field(description="Long values end in …, and of many fields the first are here.")]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Found(BaseModel):
    """A document that a search found."""

    id: str
    score: Annotated[float, Field(description="From 0 to 1, a perfect match; comparable between searches.")]
    title: Annotated[str, Field(description="Empty for a document without a title.")]
    text: Annotated[
        str, Field(description="The document, its beginning, or the beginning of its best passage; without the title.")
    ]
    is_whole: Annotated[bool, Field(description="Whether `text` is the whole document; if not, read it.")]
    start: Annotated[int, Field(description="Where `text` begins in the document; read from there for more.")] = 0
    metadata: Metadata


class Results(BaseModel):
    """The documents that a search found, best first."""

    hits: list[Found]
    probably_nothing: Annotated[
        bool | None, Field(description="Whether no document scores better than unrelated ones do; null if unknown.")
    ]
    notes: Annotated[list[str], Field(description="Warnings about the request.")]


class ExplainedWord(BaseModel):
    """A query word, and what it matched."""

    word: str
    matched: Annotated[str, Field(description="The closest words of the document.")]
    weight: Annotated[float, Field(description="How much the word counts; 1 is average.")]
    share: Annotated[float, Field(description="Its share of the score, from 0 to 1.")]


class Explained(BaseModel):
    """Why a document has its score."""

    id: str
    score: Annotated[float, Field(description="From 0 to 1, a perfect match.")]
    words: list[ExplainedWord]
    special_share: Annotated[
        float,
        Field(description="Share of the score that comes from tokens that are not words; the rest is in `words`."),
    ]
    evidence: Annotated[dict[str, float], Field(description="Shares of what counts beside the words' matches.")]


class Part(BaseModel):
    """A document, or a part of it."""

    id: str
    title: Annotated[str, Field(description="Empty for a document without a title.")]
    text: Annotated[str, Field(description="The text, or a part of it, without the title.")]
    metadata: Metadata
    characters: Annotated[int, Field(description="Length of the whole text.")]
    next_start: Annotated[int | None, Field(description="Where to go on reading; null at the end.")]


class Opened:
    """A searcher that answers one call at a time; the model is loaded for the first of them.

    Args:
        folder: folder of the index.
        settings: further arguments of :meth:`chamfer.Searcher.open`.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:  # noqa: ANN401 -- of Searcher.open
        self._folder, self._settings, self._turns = folder, settings, Lock()
        self._searcher: Searcher | None = None

    def ask(self, question: "Callable[[Searcher], Result]") -> Result:
        """Ask the newest commit."""
        from chamfer.search.searcher import Searcher

        with self._turns:
            if self._searcher is None:
                self._searcher = Searcher.open(self._folder, **self._settings)
            self._searcher = self._searcher.refreshed()
            return question(self._searcher)


def mcp_server(
    folder: str | Path,
    *,
    weights: str | TokenWeights = DEFAULT_WEIGHTS,
    first_stage: str = AUTO,
    form: Form = DEFAULT_FORM,
) -> MCPServer:
    """Make an MCP server with the tools ``search``, ``explain`` and ``read`` over an index.

    Changes of the index are followed. The model is loaded when a tool first needs it.

    Args:
        folder: folder of the index.
        weights: as in :meth:`chamfer.Searcher.open`.
        first_stage: as in :meth:`chamfer.Searcher.open`.
        form: ``l2`` or ``cosine``.

    >>> from chamfer import build_index
    >>> built = build_index(getfixture("tmp_path"), {"a": "Bread is baked from flour."})
    >>> mcp_server(getfixture("tmp_path")).name
    'chamfer'
    """
    instructions = _instructions(Index.open(folder))  # an unfinished or damaged index is an error
    opened = Opened(Path(folder), weights=weights, first_stage=first_stage, form=form)
    server = MCPServer("chamfer", version=__version__, instructions=instructions, log_level="WARNING")

    def tool(function: Callable[Parameters, Result]) -> None:
        server.add_tool(_told(function), annotations=READING)

    @tool
    def search(
        query: Annotated[str, Field(description="What to look for: a question, a sentence or keywords.")],
        k: Annotated[int, Field(ge=1, le=50, description="Number of documents to return.")] = 10,
        where: Annotated[
            str | None, Field(description="Filter on metadata, such as: year > 2020 and topic = 'travel'")
        ] = None,
        min_score: Annotated[float, Field(ge=0, le=1, description="Leave out documents that score less.")] = 0.0,
    ) -> Results:
        """Find the documents that best match a query, by meaning and by words.

        Returns the beginning of each document, or of its best passage. If a question has several parts, search for each
        of them.
        """
        return opened.ask(lambda searcher: _search(searcher, query, k, where, min_score))

    @tool
    def explain(
        query: Annotated[str, Field(description="The query of a search.")],
        id: Annotated[str, Field(description="Id of a document.")],  # noqa: A002 -- the name that agents see
    ) -> Explained:
        """Explain why a document matches a query: what each query word matched, and how much it counted.

        Use it to tell whether a result is about the right thing, or which words to change.
        """
        return opened.ask(lambda searcher: _explain(searcher, query, id))

    @tool
    def read(
        id: Annotated[str, Field(description="Id of a document.")],  # noqa: A002
        start: Annotated[int, Field(ge=0, description="Character of the text to start at.")] = 0,
    ) -> Part:
        """Read a document by its id. A long one comes in parts: continue at `next_start`."""
        return _read(Index.open(folder), id, start)

    return server


def _told(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Wrap a tool so that the agent sees its error messages; the SDK hides those of other exceptions."""

    @functools.wraps(function)
    def told(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except (InputError, OSError) as error:
            raise ToolError(str(error)) from error

    return told


def _instructions(index: Index) -> str:
    fields = index.snapshot.fields
    said = (
        f"Searches a collection of {len(index)} documents and reads them. Search first, then read what looks relevant."
    )
    if not fields:
        return f"{said} The documents have no metadata to filter on."
    more = f" and {len(fields) - SHOWN_FIELDS} more" if len(fields) > SHOWN_FIELDS else ""
    return f"{said} Metadata to filter on: {', '.join(fields[:SHOWN_FIELDS])}{more}."


def _search(searcher: "Searcher", query: str, k: int, where: str | None, min_score: float) -> Results:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", InputWarning)
        hits = searcher.search(query, k, where=where, min_score=min_score)
    notes = [str(one.message) for one in told]
    if hits.query_was_truncated:
        notes.append(f"only the first {searcher.encoder.query_length} tokens of the query count; make it shorter")
    return Results(
        hits=[
            Found(
                id=hit.id,
                score=hit.score,
                title=hit.title,
                text=hit.text[:SNIPPET],
                is_whole=len(hit.text) <= SNIPPET and (hit.passage is None or hit.passage.of == 1),
                start=0 if hit.passage is None else hit.passage.start,
                metadata=_shown(hit.metadata, SHORT_VALUE),
            )
            for hit in hits
        ],
        probably_nothing=hits.probably_nothing,
        notes=notes,
    )


def _explain(searcher: "Searcher", query: str, identifier: str) -> Explained:
    why = searcher.explain(query, identifier)
    words = [
        ExplainedWord(word=one.text, matched=one.matched, weight=one.weight, share=one.share)
        for one in why.words
        if not one.special
    ]
    evidence = {str(part.name): why.share_of(part) for part in why.evidence}
    return Explained(id=identifier, score=why.score, words=words, special_share=why.special_share, evidence=evidence)


def _read(index: Index, identifier: str, start: int) -> Part:
    document = index[identifier]
    text, stop = document.text, start + PART
    return Part(
        id=identifier,
        title=document.title,
        text=text[start:stop],
        metadata=_shown(document.metadata, LONG_VALUE),
        characters=len(text),
        next_start=stop if stop < len(text) else None,
    )


def _shown(metadata: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """The first fields of a document, with values of limited length."""
    return {name: _shortened(metadata[name], longest) for name in list(metadata)[:SHOWN_FIELDS]}


def _shortened(value: Any, longest: int) -> Any:  # noqa: ANN401 -- JSON
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=dict)
    return value if len(said) <= longest else f"{said[:longest]}…"
