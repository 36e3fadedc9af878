"""``chamfer learn``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chamfer.cli.checks import check_output, check_weights_output
from chamfer.cli.options import (
    AllowEmpty,
    AsJson,
    CacheFolder,
    Depth,
    DocumentLength,
    EncoderName,
    FormOption,
    QueryLength,
    RayAddress,
    Seed,
)
from chamfer.cli.terminal import print_json, progress_bar, results, resumable, say, say_truncated
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.learn.recipe_names import AUTO, NAMES, check_recipe
from chamfer.learn.splits import DOCUMENT, FOLDS
from chamfer.retrieve.stage import DEFAULT_DEPTH

if TYPE_CHECKING:
    from chamfer.learn.learnt import HeldOut, Learnt
    from chamfer.learn.theory import SampleComplexity


def learn(
    dataset: Annotated[Path, typer.Argument(help="BEIR folder; or a corpus, with --queries and --qrels.")],
    out: Annotated[Path, typer.Option("--out", help="Weights file to write (.safetensors).")],
    qrels: Annotated[
        list[str] | None,
        typer.Option(
            "--qrels",
            help="Split or qrels file to learn from. Repeatable.",
            show_default="train and dev",
            metavar="SPLIT",
        ),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option("--queries", help="JSON Lines file of queries.", show_default="the collection's")
    ] = None,
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

    Example: chamfer learn scifact/ --test test --out learnt.safetensors
    """
    from chamfer.data.collection import load_collection
    from chamfer.learn.presets import preset_from
    from chamfer.learn.splits import splits_to_learn_from
    from chamfer.learn.ties import groups_of
    from chamfer.support.plots import check_plot

    check_weights_output(out)
    check_recipe(recipe)
    hyperparameters = preset_from(preset, recipe)
    if plot is not None:
        check_output(plot)
        check_plot(plot)
    named = [_split(name) for name in (*(qrels or []), validation, test) if name is not None]
    files = [Path(name) for name in named if Path(name).is_file()]
    collection = load_collection(dataset, queries=queries, qrels=files, allow_empty=allow_empty)
    missing = next((name for name in named if name not in collection.judgements and Path(name).suffix), None)
    if missing is not None:
        raise InputError(f"there is no qrels file {missing}; check the path")
    validation, test = (None if name is None else _split(name) for name in (validation, test))
    splits = splits_to_learn_from(
        collection, [_split(name) for name in qrels or []], validation=validation, test=test, hold_out=hold_out
    )
    groups_of(collection.query_fields, collection.queries, group_by)  # a mistake in it is an error

    from chamfer.cli.learning_table import as_table, curve_table
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.setup import open_setup
    from chamfer.learn.curve import learning_curve
    from chamfer.learn.on_collection import learn_collection
    from chamfer.learn.plot import plot_learning
    from chamfer.learn.theory import sample_complexity

    model = Encoder.load(encoder, query_length=query_length, document_length=document_length)
    with (
        resumable(),
        open_setup(collection, encoder=model, cache=cache, form=form, depth=depth, ray=ray) as setup,
    ):
        learnt = learn_collection(
            setup,
            splits,
            validation=validation,
            test=test,
            hold_out=hold_out,
            max_queries=max_queries,
            recipe=recipe,
            preset=hyperparameters,
            folds=folds,
            group_by=group_by,
            seed=seed,
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
    _print_outcome(learnt)
    if theory is not None:
        results.print(curve_table(points))
        _print_theory(theory)
    say_truncated("queries", learnt.truncated["queries"], len(learnt.queries), model.query_length)
    say_truncated("documents", learnt.truncated["documents"], len(collection.documents), model.document_length)
    if learnt.repeated:
        say(f"note: {learnt.repeated} judged queries are not learnt from, because the same words are tested on")
    for reason in learnt.left_out.reasons():
        say(f"note: {reason}")
    if learnt.unknown:
        say(f"note: {learnt.unknown} judged documents are not in the corpus")
    if learnt.weights.mix:
        factors = ", ".join(f"{name} {factor:.3g}" for name, factor in asdict(learnt.weights.mix).items())
        say(f"evidence counts with the factors {factors}")
    if learnt.weights.adapter is not None:
        say(f"an adapter of rank {learnt.weights.adapter.rank} moves query vectors")
    say(f"wrote {out}{'' if plot is None else f' and {plot}'}")


def _split(name: str) -> str:
    """The name of a split; for a file, its path as ``pathlib`` writes it."""
    return str(Path(name)) if Path(name).is_file() else name


def _legends(learnt: "Learnt") -> list[str]:
    """The hyper-parameters of each recipe that was tried."""
    from chamfer.learn.registry import all_recipes

    tried = {row.recipe for row in learnt.report.rows}
    return [f"{one.name} ({one.legend})" for one in all_recipes().values() if one.name in tried]


def _print_outcome(learnt: "Learnt") -> None:
    report = learnt.report
    lines = [
        f"parentheses list hyper-parameters: {'; '.join(_legends(learnt))}",
        f"chosen: {learnt.chosen}; {learnt.why}",
        f"learnt from {report.queries} judged queries with {report.seen} distinct tokens, {report.measured_on}",
    ]
    if report.shares:
        shares = sorted(report.shares.items(), key=lambda one: -one[1])
        lines.append("blended: " + ", ".join(f"{name} {share:.0%}" for name, share in shares))
    for name in ("heaviest", "lightest", "special"):
        some = getattr(report, name)
        lines.append(f"{name}: " + ", ".join(f"{token} {weight:.2f}" for token, weight in some))
    if not report.converged:
        lines.append("the solver reached its iteration limit, so these weights are close to the optimum but not at it")
    for which, measured in (("test queries", learnt.held_out), ("of them apart from those learnt from", learnt.apart)):
        lines += [] if measured is None else _comparisons(which, measured)
    if learnt.held_out is not None and learnt.held_out.kept_apart:
        lines.append(f"test queries and those learnt from {learnt.held_out.kept_apart}")
    for line in lines:
        results.print(line, markup=False, soft_wrap=True)


def _comparisons(which: str, measured: "HeldOut") -> list[str]:
    """A line for each measure: learnt weights against those that need no labels."""
    from chamfer.learn.start import MIX

    lines = []
    for name, after in measured.learnt.items():
        against = []
        for baseline, means, found in (
            ("uniform", measured.uniform, measured.against_uniform[name]),
            (MIX.name, measured.zero_shot, measured.against_zero_shot[name]),
        ):
            before = means[name]
            change = f"{found.difference / before:+.1%}" if before else "from 0"
            against.append(f"{baseline} {before:.4f} ({change}, p = {found.p_value:.4f})")
        lines.append(f"on {measured.queries} {which}, {name}: learnt {after:.4f}; {'; '.join(against)}")
    return lines


def _print_theory(theory: "SampleComplexity") -> None:
    from chamfer.learn.theory import pairs_needed

    needed = "no number of pairs suffices" if theory.needed is None else f"{theory.needed:.3g} pairs suffice"
    results.print(
        f"Theorem 1: lambda_min(A) = {theory.smallest_eigenvalue:.3g} over {theory.tokens} tokens, so {needed} to "
        f"recover hidden weights from exact scores; there are {theory.pairs} here\n"
        f"generalisation bound with these pairs: {theory.excess_risk:.2f}; "
        f"reaching 0.5 takes {pairs_needed(theory.tokens, 0.5):.3g} pairs",
        markup=False,
        soft_wrap=True,
    )
