"""``chamfer evaluate``."""

from pathlib import Path
from typing import Annotated

import typer

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
    QueryLength,
    RayAddress,
    SpecialOption,
    ValidationOption,
    parse_special,
)
from chamfer.cli.terminal import print_json, results, resumable, say, say_truncated
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
    dataset: Annotated[Path, typer.Argument(help="Judged collection: BEIR folder.")],
    weights: Annotated[
        list[str],
        typer.Option("--weights", help=f"{WEIGHTS_HELP} Repeatable.", metavar="NAME"),
    ] = list(NAMES),  # noqa: B006 -- typer copies it
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
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Compare token weights on a judged collection: measures, significance, wins and losses.

    Example: chamfer evaluate scifact/ --weights uniform --weights idf-soft
    """
    from chamfer.data.collection import load_collection
    from chamfer.data.runs import read_run, write_run

    chosen = parse_special(special)
    if save_runs is not None and save_runs.exists() and not save_runs.is_dir():
        raise InputError(f"--save-runs needs a folder, but {save_runs} is a file")
    for name in weights:
        check_file(name, form)
    runs = {path.stem: read_run(path) for path in run or []}
    given = None if candidates is None else read_run(candidates)
    collection = load_collection(dataset, allow_empty=allow_empty)
    collection.judged_queries(split)
    if chosen == AUTO:
        collection.judged_queries(validation)

    check_stage(first_stage)

    from chamfer.cli.evaluation_table import as_table, title
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.experiment import evaluate as compare_weights

    model = Encoder.load(encoder, query_length=query_length, document_length=document_length)
    with resumable():
        evaluation = compare_weights(
            collection,
            weights,
            split=split,
            encoder=model,
            first_stage=first_stage,
            candidates=given,
            runs=runs,
            depth=depth,
            form=form,
            special=chosen,
            validation=validation,
            baseline=baseline,
            ablation=ablation,
            cache=cache,
            ray=ray,
        )
    say_truncated("queries", evaluation.truncated["queries"], evaluation.queries, model.query_length)
    say_truncated("documents", evaluation.truncated["documents"], evaluation.documents, model.document_length)
    unknown = collection.unknown_judged(split)
    if unknown:
        say(f"note: {unknown} judged documents are not in the corpus")
    found_by = evaluation.settings["first_stage"]
    for system in evaluation.systems:
        without = evaluation.queries - system.answered
        if without and system.name in (found_by, *runs):  # a weighting answers whenever its candidates do
            say(f"note: {system.name} returns nothing for {without} of {evaluation.queries} queries")
        if save_runs is not None and system.name not in ("candidates", *runs):  # those are files already
            write_run(save_runs / f"{system.label}.trec", system.rankings, tag=system.label)
    if as_json:
        print_json(evaluation.as_json())
    else:
        results.print(title(evaluation), markup=False, soft_wrap=True)
        results.print(as_table(evaluation))
