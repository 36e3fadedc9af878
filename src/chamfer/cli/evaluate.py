"""``chamfer evaluate``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from chamfer.cli.checks import check_output, is_given, is_index, refuse_for_index
from chamfer.cli.options import (
    WEIGHTS_HELP,
    AllowEmpty,
    AsJson,
    CacheFolder,
    Depth,
    DocumentLength,
    EncoderName,
    FirstStage,
    FormOption,
    JudgedQueries,
    QueryLength,
    RayAddress,
    SpecialOption,
    ValidationOption,
    parse_special,
)
from chamfer.cli.terminal import print_json, results, resumable, say, say_once
from chamfer.data.judgements import DEV, TEST
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.retrieve.stage import DEFAULT_DEPTH
from chamfer.retrieve.stages import BM25, check_stage
from chamfer.weights.names import check_file
from chamfer.weights.special import AUTO, DEFAULT
from chamfer.weights.zero_shot import NAMES, UNIFORM


def evaluate(
    context: typer.Context,
    dataset: Annotated[Path, typer.Argument(help="Index or corpus, with --qrels; or a BEIR folder.")],
    weights: Annotated[
        list[str],
        typer.Option("--weights", help=f"{WEIGHTS_HELP} Repeatable.", metavar="NAME"),
    ] = list(NAMES),  # noqa: B006 -- typer copies it
    qrels: Annotated[
        Path | None,
        typer.Option(
            "--qrels",
            help="Judgements: a file (CSV, TSV, JSON, Parquet, clicks, qrels).",
            show_default="the split's",
            metavar="FILE",
        ),
    ] = None,
    queries: JudgedQueries = None,
    encoder: EncoderName = MINILM,
    split: Annotated[str, typer.Option("--split", help="Split to evaluate on.")] = TEST,
    first_stage: FirstStage = BM25,
    candidates: Annotated[
        Path | None, typer.Option("--candidates", help="TREC run to re-rank.", show_default="the first stage's")
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option("--run", help="TREC run to evaluate as well. Repeatable.", metavar="FILE"),
    ] = None,
    depth: Depth = DEFAULT_DEPTH,
    form: FormOption = DEFAULT_FORM,
    special: SpecialOption = f"{DEFAULT:g}",
    validation: ValidationOption = DEV,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="System to compare with.", show_default=UNIFORM)
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also measure a mix without each of its pieces.")
    ] = False,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    save_runs: Annotated[
        Path | None,
        typer.Option("--save-runs", help="Write the rankings to this folder, as TREC runs."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write a report to this file: measures, and why queries were won and lost."),
    ] = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Compare token weights on an index or a judged collection: measures, significance, wins and losses.

    An index is searched, with the first stage auto and its own depth unless they are given. The candidates of a
    collection are re-ranked.

    Example: chamfer evaluate index/ --qrels judged.csv --weights uniform --weights mix
    """
    from chamfer.data.collection import Collection, load_collection
    from chamfer.data.runs import read_run, write_run

    chosen = parse_special(special)
    if save_runs is not None and save_runs.exists() and not save_runs.is_dir():
        raise InputError(f"--save-runs needs a folder, but {save_runs} is a file")
    if html is not None:
        check_output(html)
    for name in weights:
        check_file(name, form)
    check_stage(first_stage)
    runs = {path.stem: read_run(path) for path in run or []}
    given = None if candidates is None else read_run(candidates)
    if queries is not None and qrels is None:
        raise InputError("--queries needs --qrels, the judgements of these queries")
    if qrels is not None and is_given(context, "split"):
        raise InputError("give --qrels or --split, not both")
    source: Path | Collection = dataset
    settings: dict[str, Any]
    if is_index(dataset):
        refuse_for_index(context)
        if qrels is None:
            raise InputError(f"{dataset} is an index, so it needs a file of judgements, as in: --qrels judged.csv")
        if chosen == AUTO:
            raise InputError("an index takes no --special auto, because its judged queries have no splits; give 0 or 1")
        settings = {
            "queries": queries,
            "judgements": qrels,
            "first_stage": first_stage if is_given(context, "first_stage") else None,
            "depth": depth if is_given(context, "depth") else None,
        }
    else:
        files = [] if qrels is None else [qrels]
        source = load_collection(dataset, queries=queries, qrels=files, allow_empty=allow_empty)
        split = split if qrels is None else str(qrels)
        source.judged_queries(split)
        if chosen == AUTO:
            source.judged_queries(validation)
        settings = {
            "split": split,
            "first_stage": first_stage,
            "candidates": given,
            "runs": runs,
            "depth": depth,
            "validation": validation,
            "cache": cache,
            "ray": ray,
        }

    from chamfer.cli.evaluation_table import as_table, title
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.experiment import evaluate as compare_weights

    if isinstance(source, Collection):
        settings["encoder"] = Encoder.load(encoder, query_length=query_length, document_length=document_length)
    with resumable():
        evaluation = compare_weights(
            source, weights, form=form, special=chosen, baseline=baseline, ablation=ablation, **settings
        )
    for note in evaluation.notes():
        say_once(f"note: {note}")
    for system in evaluation.systems:
        if save_runs is not None and system.name not in ("candidates", *runs):  # those are files already
            write_run(save_runs / f"{system.label}.trec", system.rankings, tag=system.label)
    if as_json:
        print_json(evaluation.as_json())
    else:
        results.print(title(evaluation), markup=False, soft_wrap=True)
        results.print(as_table(evaluation))
    if html is not None:
        evaluation.save_report(html)
        say(f"wrote {html}")
