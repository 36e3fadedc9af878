"""``chamfer demo``."""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from chamfer.cli.checks import check_output
from chamfer.cli.options import CacheFolder
from chamfer.cli.terminal import print_json, progress_bar, results, say, say_truncated
from chamfer.encode.settings import MINILM
from chamfer.support.files import write_text
from chamfer.weights.names import DEFAULT_WEIGHTS
from chamfer.weights.zero_shot import UNIFORM

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from chamfer.data.ranking import Ranking
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.evaluation import Evaluation
    from chamfer.weights.token_weights import TokenWeights

DOCUMENT_LENGTH, DEPTH = 128, 200
# Rankings that are shown, and documents of each.
RISES, FALLS, SHOWN = 2, 1, 3
# Queries that are shown fit on a line with their weights, and are plain English.
WORDS, PLAIN = range(5, 13), re.compile(r"[A-Z][a-z]+[a-z ,'-]+\.")
# Characters of a document that are shown.
SNIPPET = 90


class Case(NamedTuple):
    """A query, its right answer, and its rankings with uniform weights and with the default ones."""

    query: str
    answer: str
    uniform: Sequence[str]
    weighted: Sequence[str]

    @property
    def ranks(self) -> tuple[int, int]:
        """Rank of the right answer in both, from 1."""
        return self.uniform.index(self.answer) + 1, self.weighted.index(self.answer) + 1


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

    from chamfer.cli.evaluation_table import as_table, title
    from chamfer.data.docstrings import docstring_collection
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.on_collection import evaluate_collection
    from chamfer.evaluate.setup import Setup
    from chamfer.support.cache_folder import default_cache
    from chamfer.weights.names import weights_by_name
    from chamfer.weights.zero_shot import NAMES

    if save is not None:
        results.record, results.width = True, 110
    started = time.perf_counter()
    collection = docstring_collection(max_documents)
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
    weights = weights_by_name(DEFAULT_WEIGHTS, encoder, lambda: setup.frequencies)
    cases = _cases(evaluation, collection.queries, collection.judgements["test"])
    rises = sorted(cases, key=lambda case: case.ranks[1] - case.ranks[0])[:RISES]
    falls = sorted(cases, key=lambda case: case.ranks[0] - case.ranks[1])[:FALLS]
    for heading, chosen in (
        ("Where weights moved the right answer up the most", rises),
        ("and where they moved it down the most", falls),
    ):
        results.print(f"\n[bold]{heading}[/]")
        for case in chosen:
            before, after = case.ranks
            rank = f"rank {before} with uniform weights, {after} with {DEFAULT_WEIGHTS}"
            results.print("", _weighted(case.query, encoder, weights), sep="\n")
            results.print(_side_by_side(case, collection.documents))
            results.print(f"right answer: [green]{case.answer}[/], {rank}")
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
    if save is not None:
        # without the web fonts that rich refers to, so that the picture needs no network
        picture = re.sub(r"@font-face\s*{.*?}", "", results.export_svg(title="chamfer demo"), flags=re.DOTALL)
        write_text(save, picture)


def _cases(
    evaluation: "Evaluation", queries: Mapping[str, str], judgements: Mapping[str, Mapping[str, int]]
) -> list[Case]:
    """Queries of which one ranking begins with the right answer, and the other has it further down."""
    by_name: dict[str, Mapping[str, Ranking]] = {
        system.name: {ranking.query_id: ranking for ranking in system.rankings} for system in evaluation.systems
    }
    found = []
    for query, relevant in judgements.items():
        [answer] = relevant
        uniform, weighted = (by_name[name][query].document_ids for name in (UNIFORM, DEFAULT_WEIGHTS))
        if answer in uniform and answer in weighted and _is_plain(queries[query]):
            case = Case(queries[query], answer, uniform, weighted)
            if 1 in case.ranks:
                found.append(case)
    return found


def _is_plain(query: str) -> bool:
    return len(query.split()) in WORDS and PLAIN.fullmatch(query) is not None


def _side_by_side(case: Case, documents: Mapping[str, str]) -> "Table":
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column(UNIFORM, ratio=1)
    table.add_column(DEFAULT_WEIGHTS, ratio=1)
    for pair in zip(case.uniform[:SHOWN], case.weighted[:SHOWN], strict=True):
        table.add_row(*(_name(name, is_right=name == case.answer) for name in pair))
        table.add_row(*(Padding(_beginning(documents[name]), (0, 0, 0, 2)) for name in pair))
    return table


def _name(name: str, *, is_right: bool) -> "Text":
    from rich.text import Text

    return Text(f"✓ {name}", "bold green") if is_right else Text(f"  {name}", "cyan")


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
