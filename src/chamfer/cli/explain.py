"""``chamfer explain``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from chamfer.cli.checks import check_output, check_query
from chamfer.cli.options import FormOption, IndexFolder, WeightsName
from chamfer.cli.terminal import print_json, results, say, say_truncated
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.weights.names import DEFAULT_WEIGHTS, check_file
from chamfer.weights.zero_shot import UNIFORM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chamfer.explain.explanation import Explanation
    from chamfer.explain.matches import Difference
    from chamfer.search.searcher import Searcher

DECIDING = 8


def explain(
    folder: IndexFolder,
    query: Annotated[str, typer.Argument(help="Query text.")],
    document: Annotated[str | None, typer.Argument(help="Document id.", show_default="the top two documents")] = None,
    other: Annotated[
        str | None, typer.Argument(help="Id of a second document, to compare with.", show_default="none")
    ] = None,
    weights: WeightsName = DEFAULT_WEIGHTS,
    form: FormOption = DEFAULT_FORM,
    html: Annotated[Path | None, typer.Option("--html", help="Also write the explanation as an HTML page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Explain scores: what each query word matched, and how much it contributed.

    Example: chamfer explain index/ "how do vaccines work" 4983
    """
    check_query(query)
    if html is not None:
        check_output(html)

    from chamfer.index.index import Index

    index = Index.open(folder)
    check_file(weights, form)
    asked = list(dict.fromkeys(identifier for identifier in (document, other) if identifier is not None))
    index.snapshot.places(asked)  # an unknown id is an error

    from chamfer.search.searcher import Searcher

    searcher = Searcher.open(index, weights=weights, form=form)
    explained = searcher.explain(query, asked or None)
    if not explained:
        raise InputError(f"the index in {folder} has no documents; add some with: chamfer index add")
    say_truncated("queries", int(explained[0].query_was_truncated), 1, searcher.encoder.query_length)
    if searcher.queries.resolve(weights).adapter is None:
        uniform = [one.with_uniform_weights() for one in explained]
    else:  # uniform weights match the query before the adapter moved it
        uniform = _uniform(searcher, query, explained)
    by_score = sorted(explained, key=lambda one: -one.score)
    if html is not None:
        from chamfer.explain.notebook import differences_as_html, page
        from chamfer.support.files import write_text

        parts = [explanation._repr_html_() for explanation in explained]
        if len(explained) == 2:
            parts.append(differences_as_html(*by_score))
        write_text(html, page(query, parts))
        say(f"wrote {html}")
    if as_json:
        print_json({"query": query, "weights": weights, **_as_json(explained, uniform)})
        return
    for explanation, plain in zip(explained, uniform, strict=True):
        title = f"  {escape(explanation.title)}" if explanation.title else ""
        if explanation.passage is not None and explanation.passage.of > 1:
            title += f"  {explanation.passage}"
        results.print(
            f"[bold]{escape(explanation.document_id)}[/]{title}  score [cyan]{explanation.score:.4f}[/], "
            f"{explanation.special_share:.0%} of it from special tokens; with uniform weights {plain.score:.4f}"
        )
        results.print(_words(explanation, plain), "", sep="\n")
    if len(explained) == 2:
        above, below = by_score
        gap = above.score - below.score
        results.print(f"[bold]{escape(above.document_id)}[/] beats {escape(below.document_id)} by {gap:.4f} because:")
        results.print(_deciding(above, below))


def _uniform(searcher: "Searcher", query: str, explained: "Sequence[Explanation]") -> list["Explanation"]:
    """Explanations with uniform weights, of the same passages."""
    encoded = searcher.queries.encode([query], UNIFORM)
    passages = {one.document_id: one.passage.number for one in explained if one.passage is not None}
    places = searcher.ranker.explained(encoded, [one.document_id for one in explained], passages)
    return [one for one in searcher.explain_places(encoded, places) if one is not None]


def _as_json(explained: "Sequence[Explanation]", uniform: "Sequence[Explanation]") -> dict[str, Any]:
    pairs = zip(explained, uniform, strict=True)
    found: dict[str, Any] = {
        "documents": [
            one.as_json() | {"uniform_score": plain.score, "against_uniform": _differences(one.against(plain))}
            for one, plain in pairs
        ]
    }
    if len(explained) == 2:
        above, below = sorted(explained, key=lambda one: -one.score)
        found["above"] = {
            "id": above.document_id,
            "below": below.document_id,
            "because": _differences(above.against(below)),
        }
    return found


def _differences(differences: "Sequence[Difference]") -> list[dict[str, Any]]:
    return [difference._asdict() | {"gain": difference.gain} for difference in differences]


def _words(explanation: "Explanation", uniform: "Explanation") -> Table:
    shown = Table(box=None, pad_edge=False)
    for name in ("query word", "matched"):
        shown.add_column(name)
    for name in ("weight", "contribution", "uniform", "share"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    for word, plain in zip(explanation.lines, uniform.lines, strict=True):
        style = "dim" if word.special else ""
        shown.add_row(
            escape(word.text),
            escape(word.matched),
            f"{word.weight:.2f}",
            f"{word.contribution:.4f}",
            f"{plain.contribution:.4f}",
            f"{word.share:.0%}",
            "█" * round(20 * max(word.share, 0.0)),
            style=style,
        )
    for part in explanation.evidence:
        share = explanation.share_of(part)
        shown.add_row(
            f"{part.name} evidence",
            f"{part.value:.2f} of {part.perfect:.2f}",
            f"{part.factor:g}",
            f"{part.contribution:.4f}",
            "",
            f"{share:.0%}",
            "█" * round(20 * share),
        )
    return shown


def _deciding(above: "Explanation", below: "Explanation") -> Table:
    shown = Table(box=None, pad_edge=False)
    shown.add_column("query word")
    for name in (above.document_id, below.document_id, "difference"):
        shown.add_column(escape(name), justify="right")
    for difference in above.against(below)[:DECIDING]:
        colour = "green" if difference.gain > 0 else "red"
        shown.add_row(
            escape(difference.shown),
            f"{difference.one:.4f}",
            f"{difference.other:.4f}",
            f"[{colour}]{difference.gain:+.4f}[/]",
        )
    return shown
