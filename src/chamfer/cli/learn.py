"""``chamfer learn``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from chamfer.cli.checks import check_output, check_weights_output, is_given, is_index, refuse_for_index
from chamfer.cli.options import (
    AllowEmpty,
    AsJson,
    CacheFolder,
    Depth,
    DocumentLength,
    EncoderName,
    FormOption,
    JudgedQueries,
    QueryLength,
    RayAddress,
    Seed,
)
from chamfer.cli.terminal import print_json, progress_bar, results, resumable, say, say_truncated
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.evaluate.groups import DOCUMENT
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.learn.recipe_names import AUTO, NAMES, check_recipe
from chamfer.learn.splits import FOLDS
from chamfer.retrieve.stage import DEFAULT_DEPTH


def learn(
    context: typer.Context,
    dataset: Annotated[Path, typer.Argument(help="Index or corpus, with --qrels; or a BEIR folder.")],
    out: Annotated[Path, typer.Option("--out", help="Weights file to write (.safetensors).")],
    qrels: Annotated[
        list[str] | None,
        typer.Option(
            "--qrels",
            help="Judgements to learn from: a file (CSV, TSV, JSON, Parquet, clicks, qrels), or a split of a BEIR "
            "folder. Repeatable.",
            show_default="train and dev",
            metavar="FILE",
        ),
    ] = None,
    queries: JudgedQueries = None,
    validation: Annotated[
        str | None,
        typer.Option("--validation", help="Split or qrels file to select on.", show_default="cross-validation"),
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", help="Split or qrels file to test the result on.", show_default="none")
    ] = None,
    hold_out: Annotated[
        float, typer.Option("--hold-out", min=0, max=0.9, help="Fraction of the queries to hold out for testing.")
    ] = 0.0,
    max_queries: Annotated[
        int | None,
        typer.Option("--max-queries", min=3, help="Maximum number of queries per split.", show_default="all"),
    ] = None,
    recipe: Annotated[
        str, typer.Option("--recipe", help=f"Recipe: {', '.join(NAMES)}, or {AUTO} to try all.", metavar="NAME")
    ] = AUTO,
    preset: Annotated[
        str | None, typer.Option("--preset", help="Use the paper's hyper-parameters for a dataset, such as scifact.")
    ] = None,
    curve: Annotated[
        bool, typer.Option("--curve", help="Show the learning curve over the number of judged queries.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Plot the report to this .png, .svg or .pdf file.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of cross-validation folds.")] = FOLDS,
    group_by: Annotated[
        str,
        typer.Option(
            "--group-by",
            help="What keeps queries in one fold: text, document (a common relevant document), or a field of theirs.",
            metavar="NAME",
        ),
    ] = DOCUMENT,
    seed: Seed = 0,
    depth: Depth = DEFAULT_DEPTH,
    form: FormOption = DEFAULT_FORM,
    encoder: EncoderName = MINILM,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Learn token weights from judged queries; the encoder stays frozen.

    An index is learnt from as it is: nothing is encoded again, and its top 100 documents are the candidates unless
    --depth is given.

    Example: chamfer learn index/ --qrels judged.csv --hold-out 0.3 --out learnt.safetensors
    """
    from chamfer.data.collection import Collection, load_collection
    from chamfer.evaluate.groups import groups_of
    from chamfer.learn.presets import preset_from
    from chamfer.learn.splits import splits_to_learn_from
    from chamfer.support.plots import check_plot

    check_weights_output(out)
    check_recipe(recipe)
    preset_from(preset, recipe)
    if plot is not None:
        check_output(plot)
        check_plot(plot)
    source: Path | Collection = dataset
    settings: dict[str, Any] = {}
    if is_index(dataset):
        refuse_for_index(context, but=("seed", "ray"))
        if qrels is None or len(qrels) != 1:
            raise InputError(f"{dataset} is an index, so it needs one file of judgements, as in: --qrels judged.csv")
        settings = {"queries": queries, "judgements": qrels[0], "depth": depth if is_given(context, "depth") else None}
    else:
        named = [_split(name) for name in (*(qrels or []), validation, test) if name is not None]
        files = [Path(name) for name in named if Path(name).is_file()]
        source = load_collection(dataset, queries=queries, qrels=files, allow_empty=allow_empty)
        missing = next((name for name in named if name not in source.judgements and Path(name).suffix), None)
        if missing is not None:
            raise InputError(f"there is no qrels file {missing}; check the path")
        validation, test = (None if name is None else _split(name) for name in (validation, test))
        splits = [_split(name) for name in qrels or []]
        splits = splits_to_learn_from(source, splits, validation=validation, test=test, hold_out=hold_out)
        groups_of(source.query_fields, source.queries, group_by)  # a mistake in it is an error
        settings = {"splits": splits, "validation": validation, "test": test, "depth": depth, "cache": cache}

    from chamfer.cli.learning_outcome import print_outcome, print_theory
    from chamfer.cli.learning_table import as_table, curve_table
    from chamfer.encode.encoder import Encoder
    from chamfer.learn.curve import learning_curve
    from chamfer.learn.learning import learn as learn_weights
    from chamfer.learn.plot import plot_learning
    from chamfer.learn.theory import sample_complexity

    if isinstance(source, Collection):
        settings["encoder"] = Encoder.load(encoder, query_length=query_length, document_length=document_length)
    with resumable():
        learnt = learn_weights(
            source,
            hold_out=hold_out,
            max_queries=max_queries,
            recipe=recipe,
            preset=preset,
            form=form,
            folds=folds,
            group_by=group_by,
            seed=seed,
            ray=ray,
            **settings,
        )
    learnt.weights.save(out)
    points, theory = [], None
    if curve:
        points = learning_curve(
            learnt.queries,
            learnt.start,
            learnt.report.members,
            folds=folds,
            group_by=group_by,
            seed=seed,
            progress=progress_bar,
        )
        theory = sample_complexity(learnt.queries, form=form)
    if plot is not None:
        plot_learning(plot, learnt.report, learnt.weights, learnt.start.soft, learnt.queries, points)
    if as_json:
        print_json(
            {
                "file": str(out),
                **learnt.report.as_json(),
                "verdict": learnt.verdict,
                "left_out": {
                    **asdict(learnt.left_out),
                    "unknown_documents": learnt.unknown,
                    "repeated": learnt.repeated,
                },
                "truncated": dict(learnt.truncated),
                "held_out": learnt.held_out and learnt.held_out.as_json(),
                "apart": learnt.apart and learnt.apart.as_json(),
                "curve": [point._asdict() for point in points],
                "theory": theory and theory._asdict(),
            }
        )
        return
    results.print(as_table(learnt.report))
    print_outcome(learnt)
    if theory is not None:
        results.print(curve_table(points))
        print_theory(theory)
    if isinstance(source, Collection):
        model = settings["encoder"]
        say_truncated("queries", learnt.truncated["queries"], len(learnt.queries), model.query_length)
        say_truncated("documents", learnt.truncated["documents"], len(source.documents), model.document_length)
        # Those of a file were reported when it was read.
        unknown = sum(source.unknown_judged(name) for name in settings["splits"] if not Path(name).is_file())
        if unknown:
            say(f"note: {unknown} judged documents are not in the corpus")
    if learnt.repeated:
        say(f"note: {learnt.repeated} judged queries are not learnt from, because the same words are tested on")
    for reason in learnt.left_out.reasons():
        say(f"note: {reason}")
    if learnt.weights.mix:
        factors = ", ".join(f"{name} {factor:.3g}" for name, factor in asdict(learnt.weights.mix).items())
        say(f"evidence counts with the factors {factors}")
    if learnt.weights.adapter is not None:
        say(f"an adapter of rank {learnt.weights.adapter.rank} moves query vectors")
    say(f"{learnt.verdict}; wrote {out}{'' if plot is None else f' and {plot}'}")


def _split(name: str) -> str:
    """The name of a split; for a file, its path as ``pathlib`` writes it."""
    return str(Path(name)) if Path(name).is_file() else name
