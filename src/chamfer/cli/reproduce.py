"""``chamfer reproduce``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from chamfer.cli.options import AsJson, CacheFolder, DocumentLength, EncoderName, FormName, FormOption, QueryLength
from chamfer.cli.terminal import check_output, print_json, progress_bar, results, say
from chamfer.errors import InputError

PRINTED = ["R@10", "nDCG@10"]


class SettingName(StrEnum):
    """What BM25 has to do with it."""

    both = "both"
    rerank = "rerank"
    end_to_end = "end-to-end"


def reproduce(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(help="BEIR names, or folders of --data.", show_default="the paper's 13, or all of --data"),
    ] = None,
    setting: Annotated[
        SettingName, typer.Option("--setting", help="Re-rank BM25's candidates, search end to end, or both.")
    ] = SettingName.both,
    encoder: EncoderName = "colbert-ir/colbertv2.0",
    data: Annotated[
        Path | None,
        typer.Option("--data", help="A folder of judged collections.", show_default="download them from BEIR"),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of the run.")] = Path("runs/reproduce"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in that folder.")] = False,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="Make tables of the run in that folder and compute nothing.")
    ] = False,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write all tables as Markdown.")] = None,
    latex: Annotated[Path | None, typer.Option("--latex", help="Write all tables as LaTeX.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the gain of each dataset in the first --measure: .png, .svg, .pdf."),
    ] = None,
    measure: Annotated[list[str], typer.Option("--measure", help="Which tables are printed; repeat it.")] = PRINTED,
    depth: Annotated[int, typer.Option("--depth", min=1, help="How many candidates are scored.")] = 1000,
    most: Annotated[int, typer.Option("--most", min=2, help="Learn from at most so many queries of a split.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Of everything that is drawn.")] = 0,
    form: FormOption = FormName.l2,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and print our figures beside the paper's.

    BM25's best 1000 candidates re-ranked, or search end to end; Chamfer, weights from IDF, weights learnt from judged
    queries. Everything is kept in the folder of the run, dataset by dataset.

    Example: chamfer reproduce scifact --encoder minilm --data collections/
    """
    from chamfer.learn.plot import check_plot
    from chamfer.reproduce.paper import ALL_MEASURES, SETTINGS

    for path in (markdown, latex, plot):
        if path is not None:
            check_output(path)
    if plot is not None:
        check_plot(plot)
    for name in measure:
        if name not in ALL_MEASURES:
            raise typer.BadParameter(f"a measure is one of {', '.join(ALL_MEASURES)}, not {name!r}")

    from chamfer.cache.encoded import default_cache
    from chamfer.reproduce import run, tables
    from chamfer.reproduce.datasets import dataset_named
    from chamfer.reproduce.protocol import Protocol
    from chamfer.reproduce.report import notes, report
    from chamfer.support.files import write_text

    names = {dataset_named(name).name for name in datasets or []}
    skipped = []
    if not only_report:
        try:
            skipped = run.run(
                out,
                datasets or [],
                run.Model(encoder, query_length, document_length),
                Protocol(cache or default_cache(), depth, form.value, most, seed),
                settings=[one for one in SETTINGS if setting.value in ("both", one)],
                data=data,
                resume=resume,
                say=say,
                progress=progress_bar,
            )
        except KeyboardInterrupt:
            say("the same command with --resume goes on with this run")
            raise
    found = [
        one
        for one in run.results(out)
        if setting.value in ("both", one["setting"]) and (not datasets or one["dataset"] in names)
    ]
    if not found:
        there = ", ".join(sorted({f"{one['dataset']} ({one['setting']})" for one in run.results(out)}))
        raise InputError(f"{out} holds no results of that kind; there are: {there}")
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
            say(f"written: {path}")
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
                for table in tables.as_terminal(one):
                    results.print(table, "")
        for remark in remarks:
            say(f"note: {remark}")
    if skipped:
        raise typer.Exit(1)
