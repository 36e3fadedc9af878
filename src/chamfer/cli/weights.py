"""``chamfer weights``: make, look at and convert token weights."""

from pathlib import Path
from typing import Annotated

import typer

from chamfer.cli.options import (
    AllowEmpty,
    AsJson,
    CacheFolder,
    DocumentLength,
    EncoderName,
    SpecialOption,
    ValidationOption,
    parse_special,
)
from chamfer.cli.terminal import print_json, progress_bar, results, say
from chamfer.errors import InputError

app = typer.Typer(help="Make, look at and convert token weights.", no_args_is_help=True)

WeightsFile = Annotated[Path, typer.Argument(help="A .safetensors weights file.", metavar="FILE")]


@app.command("idf")
def idf(
    corpus: Annotated[Path, typer.Argument(help="A BEIR folder, or a file of JSON lines.")],
    out: Annotated[Path, typer.Option("--out", help="The .safetensors file to write.")],
    encoder: EncoderName = "minilm",
    soft: Annotated[bool, typer.Option("--soft", help="Softened IDF, the recommended default.")] = False,
    power: Annotated[float, typer.Option("--power", help="How soft: 0 is uniform, 1 plain proportions.")] = 0.5,
    special: SpecialOption = "1",
    validation: ValidationOption = "dev",
    sample: Annotated[float, typer.Option("--sample", help="Count only this share of the documents.")] = 1.0,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
) -> None:
    """Weigh tokens by how few documents contain them; no label is needed and nothing is encoded.

    Example: chamfer weights idf my-corpus/ --soft --out soft.safetensors
    """
    from chamfer.cache import default_cache
    from chamfer.encode import Encoder
    from chamfer.evaluation.beir import load_collection, load_documents
    from chamfer.evaluation.experiment import validator
    from chamfer.weightings import count_frequencies
    from chamfer.weights import TokenWeights

    if out.suffix != ".safetensors":
        raise InputError(f"weights are written to a .safetensors file, not {out.name!r}; see chamfer weights convert")
    documents = load_documents(corpus, allow_empty=allow_empty)
    model = Encoder.load(encoder, document_length=document_length)
    counted = count_frequencies(model, list(documents.values()), sample=sample, progress=progress_bar)
    if soft:
        weights = TokenWeights.soft_idf(counted, model.vocabulary, power=power)
    else:
        chosen, validate = parse_special(special), None
        if chosen == "auto":
            collection = load_collection(corpus, allow_empty=allow_empty)
            validate = validator(collection, model, validation, cache=cache or default_cache(), progress=progress_bar)
        weights = TokenWeights.idf(counted, model.vocabulary, special=chosen, validate=validate)
    weights.save(out)
    seen = int((counted.counts > 0).sum())
    say(f"{seen} of {len(model.vocabulary)} tokens appear in {counted.documents} documents; wrote {out}")


@app.command("show")
def show(
    file: WeightsFile,
    top: Annotated[int, typer.Option("--top", help="How many at each end.")] = 15,
    as_json: AsJson = False,
) -> None:
    """Print how weights were made, and the heaviest and the lightest tokens.

    Example: chamfer weights show soft.safetensors --top 30
    """
    from rich.markup import escape
    from rich.table import Table

    from chamfer.weights import TokenWeights

    weights = TokenWeights.load(file)
    heaviest, lightest = weights.extremes(top)
    if as_json:
        print_json(
            {
                "made": dict(weights.metadata),
                "tokenizer": weights.vocabulary.fingerprint,
                "tokens": len(weights.vocabulary),
                "special": {
                    weights.vocabulary.tokens[i]: float(weights.table[i])
                    for i in sorted(weights.vocabulary.special_ids)
                },
                "heaviest": [{"token": token, "weight": weight} for token, weight in heaviest],
                "lightest": [{"token": token, "weight": weight} for token, weight in lightest],
            }
        )
        return
    made = ", ".join(f"{key}: {value}" for key, value in weights.metadata.items())
    results.print(f"{made}  (tokenizer {weights.vocabulary.fingerprint})", markup=False)
    table = Table("heaviest", "weight", "lightest", "weight", box=None, header_style="bold", pad_edge=False)
    for (heavy, most), (light, least) in zip(heaviest, lightest, strict=True):
        table.add_row(escape(heavy), f"{most:.3f}", escape(light), f"{least:.3f}")
    results.print(table)


@app.command("convert")
def convert(
    source: Annotated[Path, typer.Argument(help="A .safetensors, .json or .txt weights file.")],
    target: Annotated[Path, typer.Argument(help="The file to write; its ending says in which format.")],
    encoder: EncoderName = "minilm",
) -> None:
    """Convert between our format, idf.json (token -> weight) and query_token_weights.txt (token, tab, weight).

    Example: chamfer weights convert soft.safetensors idf.json
    """
    from chamfer.exchange import export_weights, import_weights
    from chamfer.weights import TokenWeights

    formats = (".safetensors", ".json", ".txt")
    for path in (source, target):
        if path.suffix not in formats:
            raise InputError(f"weights files end in {', '.join(formats)}, and {path.name!r} does not")
    if source.suffix == ".safetensors":
        weights = TokenWeights.load(source)
    else:
        from chamfer.encode import Encoder

        weights = import_weights(source, Encoder.load(encoder).vocabulary)
    if target.suffix == ".safetensors":
        weights.save(target)
    else:
        export_weights(weights, target)
    say(f"wrote {target}")
