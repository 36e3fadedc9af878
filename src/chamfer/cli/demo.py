"""``chamfer demo``."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chamfer.cli.checks import check_output
from chamfer.cli.options import CacheFolder
from chamfer.cli.terminal import print_json, progress_bar, results, say, say_truncated
from chamfer.encode.settings import MINILM
from chamfer.support.files import write_text

if TYPE_CHECKING:
    from rich.text import Text

    from chamfer.explain.matches import Match
    from chamfer.tokens.batch import TokenBatch
    from chamfer.tokens.vocabulary import Vocabulary
    from chamfer.weights.token_weights import TokenWeights

QUESTIONS = (
    "how do I run several threads at once and wait for all of them",
    "read a file line by line without loading it into memory",
    "compare two dates in different time zones",
)
DOCUMENT_LENGTH, DEPTH = 128, 200


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

    from rich.table import Table
    from rich.text import Text

    from chamfer.cli.evaluation_table import as_table, title
    from chamfer.data.docstrings import docstring_collection
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.on_collection import evaluate_collection
    from chamfer.evaluate.setup import Setup
    from chamfer.explain.matching import explain_tokens
    from chamfer.retrieve.bm25 import BM25
    from chamfer.search.rerank_encoded import rerank_encoded
    from chamfer.support.cache_folder import default_cache
    from chamfer.weights.token_weights import TokenWeights
    from chamfer.weights.zero_shot import NAMES

    if save is not None:
        results.record, results.width = True, 110
    started = time.perf_counter()
    folder = cache or default_cache()
    collection = docstring_collection(max_documents)
    encoder = Encoder.load(MINILM, document_length=DOCUMENT_LENGTH)
    say(
        f"{len(collection.documents)} docstrings of Python's standard library: each first sentence is the query, "
        "the rest the document, without the names. Encoding takes a few minutes the first time."
    )
    setup = Setup(collection, encoder, folder, depth=DEPTH, progress=progress_bar)
    evaluation = evaluate_collection(setup, NAMES)
    if as_json:
        print_json(evaluation.as_json())
        return
    results.print(title(evaluation), markup=False, soft_wrap=True)
    results.print(as_table(evaluation))
    say_truncated("documents", evaluation.truncated["documents"], evaluation.documents, DOCUMENT_LENGTH)

    corpus = setup.corpus
    weights = TokenWeights.soft_idf(setup.frequencies, encoder.vocabulary)
    first_stage = BM25(collection.documents)
    for question in QUESTIONS:
        query = encoder.encode_queries([question])
        candidates = first_stage.search({"question": question}, k=DEPTH)[0]
        best = rerank_encoded(query, candidates, corpus, {"soft": weights}, k=3)["soft"].document_ids
        shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for name in best:
            document = corpus.tokens[corpus.place[name]]
            matches = explain_tokens(weights.adapt(query), weights.of(query), document, encoder.vocabulary).matches
            shown.add_row(Text(name, style="cyan"), _highlighted(collection.documents[name], matches, weights))
        results.print("", _weighted(encoder.vocabulary, query, weights), shown, sep="\n")
    results.print(f"\n[dim]{time.perf_counter() - started:.0f} s[/dim]")
    if save is not None:
        # without the web fonts that rich refers to, so that the picture needs no network
        picture = re.sub(r"@font-face\s*{.*?}", "", results.export_svg(title="chamfer demo"), flags=re.DOTALL)
        write_text(save, picture)


def _weighted(vocabulary: "Vocabulary", query: "TokenBatch", weights: "TokenWeights") -> "Text":
    """The query, each token with its weight; heavy tokens are bright."""
    from rich.text import Text

    text = Text("? ", style="bold")
    for token_id, weight in zip(query.token_ids, weights.of(query), strict=True):
        if token_id in vocabulary.special_ids:
            continue
        style = "bold yellow" if weight >= 1.2 else "dim" if weight < 0.8 else ""
        text.append(vocabulary.tokens[token_id], style).append(f" {weight:.1f}  ", "dim")
    return text


def _highlighted(document: str, matches: "Sequence[Match]", weights: "TokenWeights", width: int = 160) -> "Text":
    """The start of a document; words that mattered to the score are coloured."""
    from rich.text import Text

    def weighs(token: str) -> bool:
        return float(weights.table[weights.vocabulary.ids[token]]) >= 0.8

    mattered = {match.word for match in matches if weighs(match.token) and weighs(match.matched)}
    words = [re.escape(word) for word in mattered if word.isalnum()]
    text = Text(document)
    if words:
        text.highlight_regex(rf"(?i)\b({'|'.join(words)})\b", "bold yellow")
    text.truncate(width, overflow="ellipsis")
    return text
