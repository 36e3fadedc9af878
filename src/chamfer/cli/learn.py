"""``chamfer learn``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from chamfer.cli.options import (
    AllowEmpty,
    AsJson,
    CacheFolder,
    DocumentLength,
    EncoderName,
    FormName,
    FormOption,
    QueryLength,
)
from chamfer.cli.terminal import print_json, progress_bar, results, say
from chamfer.errors import InputError


class RecipeName(StrEnum):
    """The recipes, for the command line."""

    auto = "auto"
    paper = "paper"
    prior = "prior"
    context = "context"


def learn(
    dataset: Annotated[Path, typer.Argument(help="A judged collection in the BEIR layout.")],
    out: Annotated[Path, typer.Option("--out", help="The .safetensors file to write.")],
    split: Annotated[str, typer.Option("--split", help="The judged queries to learn from.")] = "train",
    validation: Annotated[
        str | None, typer.Option("--validation", help="Choose on this split.", show_default="cross-validation")
    ] = None,
    recipe: Annotated[RecipeName, typer.Option("--recipe", help="How to learn; auto tries all.")] = RecipeName.auto,
    preset: Annotated[
        str | None, typer.Option("--preset", help="The paper's hyper-parameters for a dataset, such as scifact.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Of the cross-validation.")] = 3,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the folds.")] = 0,
    depth: Annotated[int, typer.Option("--depth", min=1, help="How many candidates are learnt from.")] = 1000,
    form: FormOption = FormName.l2,
    encoder: EncoderName = "minilm",
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    as_json: AsJson = False,
) -> None:
    """Learn token weights from judged queries; the model stays as it is, and uniform weights unless labels insist.

    Example: chamfer learn scifact/ --out learnt.safetensors
    """
    from rich.table import Table

    from chamfer.evaluation.beir import load_collection

    if out.suffix != ".safetensors":
        raise InputError(f"weights are written to a .safetensors file, not {out.name!r}")
    collection = load_collection(dataset, allow_empty=allow_empty)
    collection.judged_queries(split)

    from chamfer.cache import default_cache
    from chamfer.encode import Encoder
    from chamfer.evaluation.learning import learn_collection
    from chamfer.learn.paper import PRESETS

    if preset is not None and preset not in PRESETS:
        raise InputError(f"a preset is one of {', '.join(PRESETS)}, not {preset!r}")
    model = Encoder.load(encoder, query_length=query_length, document_length=document_length)
    weights, report, left_out = learn_collection(
        collection,
        model,
        cache=cache or default_cache(),
        split=split,
        validation=validation,
        recipe=recipe.value,
        preset=None if preset is None else PRESETS[preset],
        depth=depth,
        form=form.value,
        folds=folds,
        seed=seed,
        progress=progress_bar,
    )
    weights.save(out)
    counts = {
        "without_relevant": len(left_out.without_relevant),
        "without_negatives": len(left_out.without_negatives),
        "unknown_documents": left_out.unknown_documents,
    }
    if as_json:
        print_json({"file": str(out), **report.as_json(), "left_out": counts})
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in ("candidate", "nDCG@10", "95 %", "R@10", "95 %", "win/tie/loss"):
        table.add_column(header, justify="left" if header == "candidate" else "right", no_wrap=True)
    for row in sorted(report.rows, key=lambda row: -(row.ndcg + row.recall)):
        style = "bold" if row.name == report.choice.name else ""
        spans = [f"{low:.3f}-{high:.3f}" for low, high in (row.ndcg_interval, row.recall_interval)]
        won = f"{row.wins}/{row.ties}/{row.losses}"
        table.add_row(row.name, f"{row.ndcg:.4f}", spans[0], f"{row.recall:.4f}", spans[1], won, style=style)
    results.print(table)
    results.print(f"{report.choice.name}: {report.choice.why}", markup=False, soft_wrap=True)
    for what, count in counts.items():
        if count:
            say(f"note: {count} {'judgements' if what == 'unknown_documents' else 'queries'} left out: {what}")
    say(f"{report.queries} judged queries, {report.seen} tokens seen, {report.measured_on}; wrote {out}")
