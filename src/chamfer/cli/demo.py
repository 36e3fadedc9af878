"""``chamfer demo``."""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chamfer.cli.checks import check_output
from chamfer.cli.demo_cases import OBSCURE, Case, is_plain, lowered_by_mix, raised_by_mix, raised_by_weights
from chamfer.cli.options import CacheFolder
from chamfer.cli.terminal import print_json, progress_bar, recorded, results, say, say_truncated
from chamfer.encode.settings import MINILM
from chamfer.support.files import write_text
from chamfer.weights.zero_shot import MIX, SOFT_IDF, UNIFORM

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from chamfer.data.collection import Collection
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.evaluation import Evaluation
    from chamfer.weights.token_weights import TokenWeights

DOCUMENT_LENGTH, DEPTH = 128, 200
# Characters of a document that are shown.
SNIPPET = 90
# Columns of the picture.
WIDTH = 110


def demo(
    save: Annotated[Path | None, typer.Option("--save", help="Also save the output as an .svg picture.")] = None,
    max_documents: Annotated[
        int | None, typer.Option("--max-documents", min=10, help="Maximum number of docstrings.", show_default="all")
    ] = None,
    cache: CacheFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the evaluation as JSON, without searching.")] = False,
) -> None:
    """Search the docstrings of Python's standard library, with and without weights.

    Needs no data and no labels.

    Example: chamfer demo
    """
    if save is not None:
        check_output(save)
    say("reading the docstrings of Python's standard library ...")

    from chamfer.data.docstrings import docstring_collection
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.on_collection import evaluate_collection
    from chamfer.evaluate.setup import Setup
    from chamfer.support.cache_folder import default_cache
    from chamfer.weights.names import weights_by_name
    from chamfer.weights.zero_shot import NAMES

    started = time.perf_counter()
    collection = docstring_collection(max_documents, without=OBSCURE)
    encoder = Encoder.load(MINILM, document_length=DOCUMENT_LENGTH, arithmetic="auto", engine="auto")
    say(
        f"{len(collection.documents)} docstrings: each first sentence is a query, and the rest of its docstring is the "
        "right answer. Encoding takes about half a minute, the first time."
    )
    setup = Setup(collection, encoder, cache or default_cache(), depth=DEPTH, progress=progress_bar)
    evaluation = evaluate_collection(setup, NAMES)
    if as_json:
        print_json(evaluation.as_json())
        return
    weights = {name: weights_by_name(name, encoder, lambda: setup.frequencies) for name in (SOFT_IDF, MIX)}
    cases = _cases(evaluation, collection, encoder)
    with nullcontext() if save is None else recorded(WIDTH):
        _show(evaluation, cases, collection, weights, encoder, started)
        if save is not None:
            # without the web fonts that rich refers to, so that the picture needs no network
            picture = re.sub(r"@font-face\s*{.*?}", "", results.export_svg(title="chamfer demo"), flags=re.DOTALL)
            write_text(save, picture)


def _show(
    evaluation: "Evaluation",
    cases: Sequence[Case],
    collection: "Collection",
    weights: Mapping[str, "TokenWeights"],
    encoder: "Encoder",
    started: float,
) -> None:
    """Print what weights changed, in some queries and over all."""
    from chamfer.cli.evaluation_table import as_table, title

    for heading, after, chosen in (
        (
            f"Token weights move the right answer up: {SOFT_IDF}, rare words count more",
            SOFT_IDF,
            raised_by_weights(cases),
        ),
        (f"The {MIX} moves it up: token weights, BM25 and mean vectors together", MIX, raised_by_mix(cases)),
        (f"What it cannot do: here the {MIX} moves the right answer down", MIX, lowered_by_mix(cases)),
    ):
        if chosen:
            results.print(f"\n[bold]{heading}[/]")
        for case in chosen:
            results.print("", _weighted(case.query, encoder, weights[after]), sep="\n")
            results.print(_side_by_side(case, after, collection.documents))
            results.print(f"right answer: [green]{case.answer}[/], {case.ranks}")
    results.print("\n[bold]All queries[/]\n")
    results.print(title(evaluation), markup=False, soft_wrap=True)
    results.print(as_table(evaluation))
    say_truncated("documents", evaluation.truncated["documents"], evaluation.documents, DOCUMENT_LENGTH)
    results.print(f"\n[dim]{time.perf_counter() - started:.0f} s[/dim]")
    results.print(
        "Next, with your own documents, in a CSV, JSON, Parquet or text file, or a folder of them:\n\n"
        "    chamfer index build YOUR-FILE --out index/\n"
        "    chamfer search index/ 'your question'",
        markup=False,
    )


def _cases(evaluation: "Evaluation", collection: "Collection", encoder: "Encoder") -> list[Case]:
    """Queries that may be shown: in plain English, with every ranking having the right answer somewhere."""
    rankings = {
        system.name: {ranking.query_id: ranking.document_ids for ranking in system.rankings}
        for system in evaluation.systems
    }
    queries = {query: collection.queries[query] for query in collection.judgements["test"]}
    tokenized = encoder.tokenize([*queries.values()], "query")
    tokens = encoder.vocabulary.tokens
    found = []
    for (query, text), ids in zip(queries.items(), tokenized.token_ids, strict=True):
        if is_plain(text, [tokens[one] for one in ids]):
            [answer] = collection.judgements["test"][query]
            case = Case(text, answer, {name: rankings[name][query] for name in (UNIFORM, SOFT_IDF, MIX)})
            if all(answer in ranking for ranking in case.rankings.values()):
                found.append(case)
    return found


def _side_by_side(case: Case, after: str, documents: Mapping[str, str]) -> "Table":
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column(UNIFORM, ratio=1)
    table.add_column(after, ratio=1)
    for pair in zip(case.top(UNIFORM), case.top(after), strict=True):
        table.add_row(*(_name(name, is_right=name == case.answer) for name in pair))
        table.add_row(*(Padding(_beginning(documents[name]), (0, 0, 0, 2)) for name in pair))
    return table


def _name(name: str, *, is_right: bool) -> "Text":
    from rich.text import Text

    mark, style = ("✓", "bold green") if is_right else (" ", "cyan")
    return Text(f"{mark} {name}", style, no_wrap=True, overflow="ellipsis")


def _beginning(document: str) -> str:
    return document if len(document) <= SNIPPET else document[:SNIPPET].rsplit(" ", 1)[0] + " …"


def _weighted(query: str, encoder: "Encoder", weights: "TokenWeights") -> "Text":
    """The query, each token with its weight; heavy tokens are bright."""
    from rich.text import Text

    tokens = encoder.encode_queries([query])
    text = Text("? ", style="bold")
    for token_id, weight in zip(tokens.token_ids, weights.of(tokens), strict=True):
        if token_id in encoder.vocabulary.special_ids:
            continue
        style = "bold yellow" if weight >= 1.2 else "dim" if weight < 0.8 else ""
        text.append(encoder.vocabulary.tokens[token_id], style).append(f" {weight:.1f}  ", "dim")
    return text
