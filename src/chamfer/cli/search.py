"""``chamfer search``."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from chamfer.cli.checks import check_query
from chamfer.cli.options import FirstStage, FormOption, MinScore, MixOption, WeightsName, Where, parse_mix
from chamfer.cli.terminal import results, say, say_truncated
from chamfer.data.queries import queries_from
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.retrieve.stages import AUTO, check_stage
from chamfer.search.hits import DEFAULT_K, QUERY_BATCH
from chamfer.support.api_key import VARIABLE
from chamfer.weights.names import DEFAULT_WEIGHTS, check_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chamfer.search.hits import Hit, Hits

SNIPPET_LENGTH = 300
INDENT = " " * 4


PROBABLY_NOTHING = "note: probably nothing here: no document scores higher than unrelated text"

Find = Callable[[list[str]], "list[Hits]"]
"""Answers a list of queries."""

# Options that a server has decided already.
OF_INDEX = {"first_stage": "--first-stage", "depth": "--depth", "form": "--form"}


def search(
    context: typer.Context,
    folder: Annotated[str | None, typer.Argument(help="Index folder, unless --server is given.")] = None,
    query: Annotated[str | None, typer.Argument(help="Query text.")] = None,
    queries: Annotated[
        Path | None,
        typer.Option("--queries", help="JSON Lines file of queries (_id, text); prints one JSON line per query."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--top-k", min=1, help="Number of documents to return.")] = DEFAULT_K,
    weights: WeightsName = DEFAULT_WEIGHTS,
    first_stage: FirstStage = AUTO,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, help="Candidates to score exactly.", show_default="depends on the first stage"),
    ] = None,
    where: Where = None,
    mix: MixOption = None,
    min_score: MinScore = 0.0,
    form: FormOption = DEFAULT_FORM,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            help="Ask a running chamfer serve, with its weights unless --weights names others.",
            show_default="none",
            metavar="URL",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line per query.")] = False,
) -> None:
    """Search an index, or ask a server that has one.

    A server's API key is read from the environment variable CHAMFER_API_KEY.

    Example: chamfer search index/ "how do vaccines work" -k 5 --where "year > 2020"
    """
    if server is not None:
        if query is not None:
            raise InputError(f"a server has its own index; leave out either {folder} or --server")
        folder, query = None, folder
    elif folder is None:
        raise InputError("give the folder of an index, or the address of a server with --server")
    if (query is None) == (queries is None):
        raise InputError("give either a query or --queries FILE")
    if query is not None:
        check_query(query)
    chosen = None if mix is None else parse_mix(mix)
    asked = {"query": query} if query is not None else queries_from(queries or Path()).texts
    if_none = f"note: no document scores {min_score:g} or more" if min_score else None

    if server is not None:
        for name, option in OF_INDEX.items():
            if _was_typed(context, name):
                raise InputError(f"{option} is the server's; leave it out with --server")

        from chamfer.client.client import Client

        named = weights if _was_typed(context, "weights") else None
        with Client(server, key=os.environ.get(VARIABLE) or None) as client:

            def ask(texts: list[str]) -> "list[Hits]":
                return client.search(texts, k, weights=named, where=where, mix=chosen, min_score=min_score)

            _print_all(asked, ask, None, as_json=as_json or queries is not None, if_none=if_none)
        return

    from chamfer.index.filters import as_filter
    from chamfer.index.index import Index

    index = Index.open(folder or "")
    len(index)  # an unfinished or damaged index is an error
    as_filter(where)  # a mistake in it is an error
    check_file(weights, form)
    check_stage(first_stage)

    from chamfer.search.searcher import Searcher

    searcher = Searcher.open(index, weights=weights, first_stage=first_stage, form=form)
    weighting = None if chosen is None else searcher.queries.resolve(weights).with_mix(chosen)

    def find(texts: list[str]) -> "list[Hits]":
        return searcher.search(texts, k, weights=weighting, depth=depth, where=where, min_score=min_score)

    # An estimate of what unrelated texts score takes longer than one search, so it is worth it if it can be kept.
    judged = chosen is None and (queries is not None or searcher.levels.is_kept(weights))
    length, as_json = searcher.encoder.query_length, as_json or queries is not None
    _print_all(asked, find, length, as_json=as_json, judged=judged, if_none=if_none)


def _was_typed(context: typer.Context, name: str) -> bool:
    """Whether the option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _print_all(
    asked: Mapping[str, str],
    find: Find,
    length: int | None,
    *,
    as_json: bool,
    judged: bool = True,
    if_none: str | None = None,
) -> None:
    """Answer queries by id, a batch at a time; if ``judged``, say whether there is probably nothing.

    ``if_none`` is said beside an answer without documents.
    """
    ids, truncated = list(asked), 0
    for start in range(0, len(ids), QUERY_BATCH):
        batch = ids[start : start + QUERY_BATCH]
        for identifier, hits in zip(batch, find([asked[one] for one in batch]), strict=True):
            truncated += hits.query_was_truncated
            if as_json:
                nothing = hits.probably_nothing if judged else None
                answer = {"id": identifier, "hits": [_hit(hit) for hit in hits], "probably_nothing": nothing}
                sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
            else:
                print_hits(hits)
                if not hits and if_none:
                    say(if_none)
                if hits and judged and hits.probably_nothing:  # which may take a moment, after the results
                    say(PROBABLY_NOTHING)
    say_truncated("queries", truncated, len(ids), length)


def _hit(hit: "Hit") -> dict[str, Any]:
    return hit._asdict() | {"passage": None if hit.passage is None else hit.passage.as_json()}


def print_hits(hits: "Sequence[Hit]") -> None:
    """Print hits for people: a line each, then the text and the metadata, indented."""
    if not hits:
        results.print("no documents found", markup=False)
    for rank, hit in enumerate(hits, start=1):
        text = " ".join(hit.text.split())
        results.print(f"[bold]{rank:>2}[/]  [cyan]{hit.score:.4f}[/]  ", end="")
        part = (f"  {hit.passage}", "dim") if hit.passage is not None and hit.passage.of > 1 else ""
        results.print(Text.assemble((hit.id, "bold"), f"  {hit.title}".rstrip(), part), soft_wrap=True)
        _print_indented(text if len(text) <= SNIPPET_LENGTH else text[:SNIPPET_LENGTH].rsplit(" ", 1)[0] + " …")
        if hit.metadata:
            _print_indented(" · ".join(f"{name}: {_spelt(value)}" for name, value in hit.metadata.items()), style="dim")


def _print_indented(text: str, *, style: str = "") -> None:
    for line in Text(text, style=style).wrap(results, results.width - len(INDENT)):
        results.print(Text(INDENT) + line)


def _spelt(value: Any) -> str:  # noqa: ANN401 -- JSON
    """A metadata value as a person would write it."""
    if isinstance(value, list):
        return ", ".join(map(_spelt, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
