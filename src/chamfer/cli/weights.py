"""``chamfer weights``: compute, show and convert token weights."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from chamfer import __version__
from chamfer.cli.checks import check_output, check_weights_output, is_index, refuse_for_index
from chamfer.cli.commands import Command, Group
from chamfer.cli.options import (
    AllowEmpty,
    AsJson,
    CacheFolder,
    DocumentLength,
    EncoderName,
    FormOption,
    QueryLength,
    RayAddress,
    Seed,
    ValidationOption,
    parse_special,
)
from chamfer.cli.terminal import print_json, progress_bar, results, resumable, say, say_truncated
from chamfer.data.judgements import DEV
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.weights.idf import POWER
from chamfer.weights.special import AUTO, DEFAULT

app = typer.Typer(cls=Group, help="Compute, show and convert token weights.", no_args_is_help=True)

WeightsFile = Annotated[Path, typer.Argument(help="Weights file (.safetensors).", metavar="FILE")]


@app.command("idf", cls=Command)
def idf(
    context: typer.Context,
    corpus: Annotated[Path, typer.Argument(help="Corpus of any format, a BEIR folder, or an index.", metavar="CORPUS")],
    out: Annotated[Path, typer.Option("--out", help="Weights file to write (.safetensors).")],
    encoder: EncoderName = MINILM,
    soft: Annotated[bool, typer.Option("--soft", help="Softened IDF instead of plain IDF.")] = False,
    mix: Annotated[
        bool, typer.Option("--mix", help="The default weights of a search: softened IDF, with a mix of evidence.")
    ] = False,
    power: Annotated[
        float | None,
        typer.Option(
            "--power", help="With --soft: exponent from 0 (uniform) to 1 (plain IDF).", show_default=f"{POWER:g}"
        ),
    ] = None,
    special: Annotated[
        str | None,
        typer.Option(
            "--special",
            help="Weight of special tokens under plain IDF.",
            show_default=f"{DEFAULT:g}",
            metavar="0|1|auto",
        ),
    ] = None,
    validation: ValidationOption = DEV,
    sample: Annotated[float, typer.Option("--sample", help="Fraction of the documents to count.")] = 1.0,
    seed: Seed = 0,
    form: FormOption = DEFAULT_FORM,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Compute IDF weights from a corpus or an index; needs no labels and encodes nothing.

    --special auto chooses between 0 and 1 on the judged queries of --validation; only this uses --form,
    --query-length and --cache.

    Example: chamfer weights idf my-corpus/ --mix --out mix.safetensors
    """
    check_weights_output(out)
    if mix and soft:
        raise InputError("give --mix or --soft, not both")
    if (soft or mix) and special is not None:
        raise InputError("--special is for plain IDF; under --soft and --mix, special tokens weigh 1")
    if power is not None and not soft:
        raise InputError("--power needs --soft")
    chosen = parse_special(special or f"{DEFAULT:g}")
    from_index = is_index(corpus)
    if from_index:
        refuse_for_index(context)
    if chosen == AUTO and (from_index or not corpus.is_dir()):
        raise InputError("--special auto needs a BEIR folder with judged queries; give --special 0 or 1 instead")

    from chamfer.data.collection import load_collection, load_documents
    from chamfer.index.index import Index

    index = Index.open(corpus) if from_index else None
    documents = load_documents(corpus, allow_empty=allow_empty) if index is None else {}
    collection = None
    if chosen == AUTO:
        collection = load_collection(corpus, allow_empty=allow_empty)
        collection.judged_queries(validation)

    from chamfer.data.fingerprint import fingerprint
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.setup import Setup
    from chamfer.evaluate.validation import validator
    from chamfer.index.encoder import load_encoder
    from chamfer.support.cache_folder import default_cache
    from chamfer.weights.counting import count_frequencies
    from chamfer.weights.origin import origin
    from chamfer.weights.token_weights import TokenWeights

    if index is not None:
        counted = index.frequencies
        passages = None if index.snapshot.settings.passages is None else counted.documents
        model = load_encoder(index.snapshot.settings, "query")
        whole = None if passages is None else len(index)
        made_from = origin(corpus.resolve().name, model, documents=whole, passages=passages)
    else:
        texts, passages = list(documents.values()), None
        model = Encoder.load(encoder, query_length=query_length, document_length=document_length)
        with resumable():
            counted = count_frequencies(model, texts, sample=sample, seed=seed, ray=ray)
        made_from = origin(corpus.resolve().name, model, texts=fingerprint(list(documents), texts))
    made_from["chamfer"] = __version__
    if sample < 1:
        made_from |= {"sample": sample, "seed": seed}
    if mix:
        weights = TokenWeights.zero_shot(counted, model, made_from=made_from)
    elif soft:
        weights = TokenWeights.soft_idf(
            counted, model.vocabulary, power=POWER if power is None else power, made_from=made_from
        )
    else:
        validate = None
        if collection is not None:
            setup = Setup(collection, model, cache or default_cache(), form, progress=progress_bar)
            validate = validator(setup, validation)
            made_from |= {"validation": validation, "form": form}
        weights = TokenWeights.idf(counted, model.vocabulary, special=chosen, validate=validate, made_from=made_from)
    weights.save(out)
    seen = int((counted.counts > 0).sum())
    what = "documents" if passages is None else "passages"
    say_truncated(what, counted.truncated or 0, counted.documents, model.document_length)
    if as_json:
        print_json(
            {
                "file": str(out),
                "tokens": len(model.vocabulary),
                "seen": seen,
                "truncated": counted.truncated,
                "made": dict(weights.metadata),
            }
        )
    else:
        say(f"{seen} of {len(model.vocabulary)} tokens appear in {counted.documents} {what}; wrote {out}")
        if chosen == AUTO:
            say(f"special tokens weigh {weights.metadata['special']:g}, chosen on {validation}")


@app.command("show", cls=Command)
def show(
    file: WeightsFile,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of tokens at either end.")] = 15,
    as_json: AsJson = False,
) -> None:
    """Show how weights were made, and the heaviest and lightest tokens.

    Example: chamfer weights show soft.safetensors --top 30
    """
    from rich.markup import escape
    from rich.table import Table

    from chamfer.weights.token_weights import TokenWeights

    weights = TokenWeights.load(file)
    heaviest, lightest = weights.extremes(top)
    if as_json:
        print_json(
            {
                "made": dict(weights.metadata),
                "tokenizer": weights.vocabulary.fingerprint,
                "tokens": len(weights.vocabulary),
                "mix": asdict(weights.mix),
                "adapter_rank": None if weights.adapter is None else weights.adapter.rank,
                "special": {
                    weights.vocabulary.tokens[i]: float(weights.table[i])
                    for i in sorted(weights.vocabulary.special_ids)
                },
                "heaviest": [{"token": token, "weight": weight} for token, weight in heaviest],
                "lightest": [{"token": token, "weight": weight} for token, weight in lightest],
            }
        )
        return
    vocabulary = weights.vocabulary
    special = "  ".join(f"{vocabulary.tokens[i]} {weights.table[i]:.3f}" for i in sorted(vocabulary.special_ids))
    made = ", ".join(
        f"{key}: {len(value) if isinstance(value, list) else value}" for key, value in weights.metadata.items()
    )
    results.print(f"{made}  (tokenizer {weights.vocabulary.fingerprint})", markup=False)
    results.print(f"special: {special}; {(weights.table == 0).sum()} tokens weigh 0", markup=False)
    if weights.mix:
        factors = ", ".join(f"{name} {factor:g}" for name, factor in asdict(weights.mix).items())
        results.print(f"evidence: {factors}", markup=False)
    if weights.adapter is not None:
        results.print(f"adapter of query vectors: rank {weights.adapter.rank}", markup=False)
    table = Table("heaviest", "weight", "lightest", "weight", box=None, header_style="bold", pad_edge=False)
    for (heavy, most), (light, least) in zip(heaviest, lightest, strict=True):
        table.add_row(escape(heavy), f"{most:.3f}", escape(light), f"{least:.3f}")
    results.print(table)


@app.command("convert", cls=Command)
def convert(
    source: Annotated[Path, typer.Argument(help="Weights file to read: .safetensors, .json or .txt.")],
    target: Annotated[Path, typer.Argument(help="Weights file to write; its suffix names the format.")],
    encoder: EncoderName = MINILM,
    as_json: AsJson = False,
) -> None:
    """Convert between .safetensors, .json (token to weight) and .txt (token, tab, weight).

    Example: chamfer weights convert soft.safetensors idf.json
    """
    from chamfer.weights.files import check_exists
    from chamfer.weights.token_weights import TokenWeights, check_suffix

    for path in (source, target):
        check_suffix(path)
    check_exists(source)
    check_output(target)
    vocabulary = None
    if source.suffix != ".safetensors":
        from chamfer.encode.encoder import Encoder

        vocabulary = Encoder.load(encoder).vocabulary
    weights = TokenWeights.load(source, vocabulary)
    weights.save(target)
    form = weights.metadata.get("form")
    if form is not None and target.suffix != ".safetensors":
        say(f"note: {target} does not record the form that these weights were learnt for, {form!r}")
    if as_json:
        print_json({"file": str(target), "tokens": len(weights.vocabulary), "made": dict(weights.metadata)})
    else:
        say(f"{(weights.table > 0).sum()} of {len(weights.table)} tokens have a weight; wrote {target}")
