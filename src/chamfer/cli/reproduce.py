"""``chamfer reproduce``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from chamfer.cli.checks import check_output
from chamfer.cli.options import AsJson, CacheFolder, Depth, DocumentLength, EncoderName, FormOption, QueryLength, Seed
from chamfer.cli.terminal import print_json, progress_bar, results, say
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.reproduce.paper import ALL_MEASURES, DEPTH, ENCODER, MOST_QUERIES, SETTINGS

PRINTED = ["R@10", "nDCG@10"]


def reproduce(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(help="BEIR datasets, or folders in --data.", show_default="the paper's 13, or all in --data"),
    ] = None,
    setting: Annotated[
        Literal["both", "rerank", "end-to-end"],
        typer.Option(
            "--setting", help="rerank (BM25's candidates), end-to-end (search an index), or both.", metavar="NAME"
        ),
    ] = "both",
    encoder: EncoderName = ENCODER,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of BEIR collections.", show_default="download from BEIR"),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Run folder.")] = Path("runs/reproduce"),
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in that folder.")] = False,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="Print the tables of a finished run without computing anything.")
    ] = False,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write all tables to this Markdown file.")] = None,
    latex: Annotated[Path | None, typer.Option("--latex", help="Write all tables to this LaTeX file.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Plot the gains in the first --measure to this .png, .svg or .pdf file."),
    ] = None,
    measure: Annotated[
        list[str], typer.Option("--measure", help="Measure to print. Repeatable.", metavar="NAME")
    ] = PRINTED,
    depth: Depth = DEPTH,
    max_queries: Annotated[
        int, typer.Option("--max-queries", min=2, help="Maximum number of queries per split to learn from.")
    ] = MOST_QUERIES,
    seed: Seed = 0,
    form: FormOption = DEFAULT_FORM,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper's experiments and print our results beside the paper's.

    Compares plain Chamfer, IDF weights and learnt weights, re-ranking BM25's top 1000 or searching end to end. Results
    are saved in the run folder, dataset by dataset.

    Example: chamfer reproduce scifact --encoder minilm --data collections/
    """
    from chamfer.support.plots import check_plot

    for path in (markdown, latex, plot):
        if path is not None:
            check_output(path)
    if plot is not None:
        check_plot(plot)
    for name in measure:
        if name not in ALL_MEASURES:
            raise typer.BadParameter(f"--measure must be one of {', '.join(ALL_MEASURES)}, not {name!r}")

    from chamfer.cli.reproduction_table import as_tables
    from chamfer.reproduce import run, tables
    from chamfer.reproduce.datasets import dataset_named
    from chamfer.reproduce.protocol import Protocol
    from chamfer.reproduce.report import notes, report
    from chamfer.support.cache_folder import default_cache
    from chamfer.support.files import write_text

    names = {dataset_named(name).name for name in datasets or []}
    skipped = []
    if not only_report:
        try:
            skipped = run.run(
                out,
                datasets or [],
                run.RunEncoder(encoder, query_length, document_length),
                Protocol(cache or default_cache(), depth, form, max_queries, seed),
                settings=[one for one in SETTINGS if setting in ("both", one)],
                data=data,
                resume=resume,
                say=say,
                progress=progress_bar,
            )
        except KeyboardInterrupt:
            say("run the same command with --resume to continue")
            raise
    found = [
        one
        for one in run.read_results(out)
        if setting in ("both", one["setting"]) and (not datasets or one["dataset"] in names)
    ]
    if not found:
        there = ", ".join(sorted({f"{one['dataset']} ({one['setting']})" for one in run.read_results(out)}))
        raise InputError(f"{out} has no results for these datasets and this setting; it has: {there}")
    chosen = [one for one in SETTINGS if any(result["setting"] == one for result in found)]
    everything = [report(found, one, name) for one in chosen for name in ALL_MEASURES]
    remarks = notes(found)
    if markdown is not None:
        write_text(markdown, tables.as_markdown(everything, remarks))
    if latex is not None:
        write_text(latex, tables.as_latex(everything, remarks))
    if plot is not None:
        from chamfer.reproduce.plot import plot_gains

        plot_gains(plot, [one for one in everything if one.measure == measure[0]])
    for path in (markdown, latex, plot):
        if path is not None:
            say(f"wrote {path}")
    if as_json:
        print_json(
            {
                "tables": [one.as_json() for one in everything],
                "notes": remarks,
                "skipped": [one._asdict() for one in skipped],
            }
        )
    else:
        for one in everything:
            if one.measure in measure:
                for table in as_tables(one):
                    results.print(table, "")
        for remark in remarks:
            say(f"note: {remark}")
    if skipped:
        raise typer.Exit(1)
