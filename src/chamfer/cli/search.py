"""``chamfer search``."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chamfer.cli.options import FirstStage, FormName, FormOption
from chamfer.cli.terminal import results, say, say_truncated
from chamfer.data.jsonlines import read_json_lines
from chamfer.errors import InputError
from chamfer.search.hits import DEFAULT_K

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chamfer.search.hits import Hit
    from chamfer.search.searcher import Searcher

WIDTH = 300
AT_A_TIME = 64


def search(
    folder: Annotated[Path, typer.Argument(help="The folder of an index.")],
    query: Annotated[str | None, typer.Argument(help="What is looked for.")] = None,
    queries: Annotated[
        Path | None, typer.Option("--queries", help="JSON lines with _id and text; one line of JSON for each.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many documents to find.")] = DEFAULT_K,
    weights: Annotated[str, typer.Option("--weights", help="uniform, idf, idf-soft or a weights file.")] = "idf-soft",
    first_stage: FirstStage = "auto",
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, help="Candidates that are scored exactly.", show_default="by stage")
    ] = None,
    where: Annotated[
        str | None, typer.Option("--where", help='Only documents that a filter holds for, as in "year > 2020".')
    ] = None,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Divide scores by the total weight: 0 is a perfect match.")
    ] = False,
    form: FormOption = FormName.l2,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each query.")] = False,
) -> None:
    """Search an index.

    Example: chamfer search index/ "how do vaccines work" -k 5 --where "year > 2020"
    """
    if query is None and queries is None:
        raise InputError("give a question, or a file of them with --queries")
    if query is not None and queries is not None:
        raise InputError("give a question or --queries, not both")
    asked = {"query": query} if query is not None else _read_queries(queries or Path())

    from chamfer.index.filters import parse_filter
    from chamfer.index.manifest import needed_manifest

    if where is not None:
        parse_filter(where)
    needed_manifest(folder)

    # Only now what takes seconds to import: a wrong path or filter is told at once.
    from chamfer.search.searcher import Searcher

    searcher = Searcher.open(folder, weights=weights, first_stage=first_stage, form=form.value)
    unknown = searcher.index.unknown_fields(where) if where is not None else []
    if unknown:
        say(f"note: no document has the field {', '.join(map(repr, unknown))}; {_known(searcher)}")
    ids = list(asked)
    length = searcher.encoder.query_length
    say_truncated("queries", searcher.encoder.tokenize(list(asked.values()), "query").truncated, len(ids), length)
    for start in range(0, len(ids), AT_A_TIME):
        part = ids[start : start + AT_A_TIME]
        found = searcher.search(
            [asked[identifier] for identifier in part], k, depth=depth, where=where, normalise=normalise
        )
        for identifier, hits in zip(part, found, strict=True):
            if as_json or queries is not None:
                sys.stdout.write(json.dumps(_as_answer(identifier, hits), ensure_ascii=False) + "\n")
            else:
                _show(hits)


def _known(searcher: "Searcher") -> str:
    fields = searcher.index.fields()
    return f"there are: {', '.join(fields)}" if fields else "none has any"


def _read_queries(path: Path) -> dict[str, str]:
    asked: dict[str, str] = {}
    for number, record in read_json_lines(path):
        text = record.get("text")
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{path}, line {number}: an object needs a text under 'text' that is not empty")
        identifier = str(record.get("_id", number))
        if identifier in asked:
            raise InputError(f"{path}, line {number}: the id {identifier!r} was used before; ids must be unique")
        asked[identifier] = text
    if not asked:
        raise InputError(f"{path} holds no queries; give JSON lines with _id and text")
    return asked


def _as_answer(identifier: str, hits: "Sequence[Hit]") -> dict[str, Any]:
    # JSON has no infinity: a document without tokens has no score
    found = [hit._asdict() | {"score": hit.score if math.isfinite(hit.score) else None} for hit in hits]
    return {"id": identifier, "hits": found}


def _show(hits: "Sequence[Hit]") -> None:
    if not hits:
        results.print("nothing was found", markup=False)
    for rank, hit in enumerate(hits, start=1):
        text = " ".join(hit.text.split())
        results.print(f"[bold]{rank:>2}[/]  [cyan]{hit.score:.4f}[/]  ", end="")
        results.print(hit.id, markup=False, style="bold")
        shown = text if len(text) <= WIDTH else text[:WIDTH].rsplit(" ", 1)[0] + " …"
        results.print(f"    {shown}", markup=False)
        if hit.metadata:
            results.print(f"    {json.dumps(hit.metadata, ensure_ascii=False)}", markup=False, style="dim")
