"""``chamfer evaluate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    SpecialOption,
    ValidationOption,
    parse_special,
)
from chamfer.cli.terminal import print_json, progress_bar, results, say
from chamfer.errors import InputError

if TYPE_CHECKING:
    from chamfer.evaluation.experiment import Evaluation


def evaluate(
    dataset: Annotated[Path, typer.Argument(help="A judged collection in the BEIR layout.")],
    weights: Annotated[
        list[str], typer.Option("--weights", help="uniform, idf, idf-soft or a weights file; repeat it.")
    ] = ["uniform", "idf", "idf-soft"],  # noqa: B006 -- typer copies it
    encoder: EncoderName = "minilm",
    split: Annotated[str, typer.Option("--split", help="Which judged queries to measure.")] = "test",
    candidates: Annotated[
        Path | None, typer.Option("--candidates", help="Re-rank this TREC run instead of BM25's ranking.")
    ] = None,
    run: Annotated[list[Path] | None, typer.Option("--run", help="Measure this TREC run too; repeat it.")] = None,
    depth: Annotated[int, typer.Option("--depth", min=1, help="How many candidates are re-ranked.")] = 1000,
    form: FormOption = FormName.l2,
    special: SpecialOption = "1",
    validation: ValidationOption = "dev",
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="The system to compare with.  [default: uniform]")
    ] = None,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    save_runs: Annotated[
        Path | None, typer.Option("--save-runs", help="Write each system's ranking here as a TREC run.")
    ] = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    as_json: AsJson = False,
) -> None:
    """Compare weightings on a judged collection: measures, significance, wins and losses per query.

    Example: chamfer evaluate scifact/ --weights uniform --weights idf-soft
    """
    from chamfer.cache import default_cache
    from chamfer.encode import Encoder
    from chamfer.evaluation import experiment
    from chamfer.evaluation.beir import load_collection
    from chamfer.evaluation.runs import read_run, write_run

    runs = {path.stem: read_run(path) for path in run or []}
    if len({Path(name).stem for name in (*weights, *runs)}) < len(weights) + len(run or []):
        raise InputError("two systems have the same name; rename one of the files")
    collection = load_collection(dataset, allow_empty=allow_empty)
    given = None if candidates is None else read_run(candidates)
    model = Encoder.load(encoder, query_length=query_length, document_length=document_length)
    evaluation = experiment.evaluate(
        collection,
        model,
        weights,
        cache=cache or default_cache(),
        split=split,
        candidates=given,
        runs=runs,
        depth=depth,
        form=form.value,
        special=parse_special(special),
        validation=validation,
        baseline=baseline,
        progress=progress_bar,
    )
    for what, count in evaluation.truncated.items():
        if count:
            length = evaluation.settings["query_length" if what == "queries" else "document_length"]
            say(f"note: {count} of {getattr(evaluation, what)} {what} were cut to {length} tokens")
    if save_runs is not None:
        for system in evaluation.systems:
            name = Path(system.name).stem
            write_run(save_runs / f"{name}.trec", system.rankings, tag=name)
    if as_json:
        print_json(evaluation.as_json())
    else:
        print_table(evaluation)


def print_table(evaluation: "Evaluation") -> None:
    """Print the systems side by side, each with its change against the baseline."""
    from rich.markup import escape
    from rich.table import Table

    from chamfer.evaluation.measures import MEASURES

    settings = evaluation.settings
    results.print(
        f"{evaluation.dataset}, {evaluation.split}: {evaluation.queries} queries, {evaluation.documents} documents, "
        f"{settings['encoder']}, {settings['form']}, {evaluation.seconds:.0f} s",
        markup=False,
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("system\n", no_wrap=True)
    against = Path(evaluation.baseline).stem
    for header in (*(name.replace("@", "\n@") for name in MEASURES), f"nDCG@10\nvs {against}", "p\n", "win/tie/loss\n"):
        table.add_column(header, justify="right", no_wrap=True)
    best = {name: max(system.measures[name] for system in evaluation.systems) for name in MEASURES}
    for system in evaluation.systems:
        cells = [
            f"[bold]{value:.4f}[/bold]" if value == best[name] else f"{value:.4f}"
            for name, value in ((name, system.measures[name]) for name in MEASURES)
        ]
        if system.name == evaluation.baseline:
            change = ["", "", ""]
        else:
            found = evaluation.against_baseline(system, "nDCG@10")
            change = [
                f"{found.difference:+.4f}",
                "<.001" if found.p_value < 0.001 else f"{found.p_value:.3f}",
                f"{found.wins}/{found.ties}/{found.losses}",
            ]
        table.add_row(escape(Path(system.name).stem), *cells, *change)
    results.print(table)
