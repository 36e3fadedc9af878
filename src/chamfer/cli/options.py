"""Options that several commands share, so that they mean and read the same everywhere."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from chamfer.cli.terminal import say_once
from chamfer.data.reading import FORMATS, ROW
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.kernels.form import Form
from chamfer.retrieve.stages import choices
from chamfer.weights.special import AUTO, Special
from chamfer.weights.zero_shot import NAMES

if TYPE_CHECKING:
    from chamfer.weights.mix import Mix


def checked_address(address: str | None) -> str | None:
    """Refuse a Ray address before anything is read or loaded."""
    if address is not None:
        from chamfer.workers.ray_cluster import check_address

        check_address(address)
    return address


IndexFolder: TypeAlias = Annotated[Path, typer.Argument(help="Index folder.")]
CorpusPath: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="A file (JSON lines, JSON, CSV, TSV, Parquet), a folder of Markdown, HTML, text or PDF files, a "
        "BEIR folder, or - for standard input.",
        metavar="CORPUS",
    ),
]
IdField: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--id-field",
        help=f"Column of ids; {ROW} numbers the rows.",
        show_default="_id or id, or else the row's number",
        metavar="NAME",
    ),
]
TextField: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--text-field", help="Column of texts (default: recognised); give several to join them.", metavar="NAME"
    ),
]
TitleField: TypeAlias = Annotated[
    str | None, typer.Option("--title-field", help="Column of titles.", show_default="recognised", metavar="NAME")
]
FormatName: TypeAlias = Annotated[
    str | None,
    typer.Option("--format", help=f"Format: {', '.join(FORMATS)}.", show_default="recognised", metavar="NAME"),
]
Delimiter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--delimiter", help="Character between the fields of CSV, or tab.", show_default="recognised", metavar="CHAR"
    ),
]
WEIGHTS_HELP = f"Token weights: {', '.join(NAMES)}, or a weights file."
WeightsName: TypeAlias = Annotated[str, typer.Option("--weights", help=WEIGHTS_HELP, metavar="NAME")]
MixOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--mix",
        help="Factors of BM25 and of mean vectors, such as 0.05,0.4, instead of those of the weights.",
        show_default="the weights'",
        metavar="LEXICAL,POOLED",
    ),
]
FirstStage: TypeAlias = Annotated[
    str,
    typer.Option("--first-stage", help=f"First stage: {choices()}.", metavar="NAME"),
]


def _announce(context: typer.Context, name: str) -> str:
    """Say that a model comes from a hub: a download takes long, and so does finding out that no hub can be reached."""
    if not context.resilient_parsing and name != MINILM and not Path(name).is_dir():
        say_once(f"loading the model {name} ...")
    return name


EncoderName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--encoder", help="Encoder: model hub name, folder, or minilm (offline).", metavar="NAME", callback=_announce
    ),
]
QueryLength: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--query-length", help="Truncate queries to this length.", show_default="the model's", metavar="TOKENS"
    ),
]
DocumentLength: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--document-length", help="Truncate documents to this length.", show_default="the model's", metavar="TOKENS"
    ),
]
Depth: TypeAlias = Annotated[int, typer.Option("--depth", min=1, help="Candidates per query.")]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option("--where", help="Metadata filter, such as \"lang = 'en' and year > 2020\".", metavar="FILTER"),
]
MinScore: TypeAlias = Annotated[
    float, typer.Option("--min-score", min=0, max=1, help="Leave out documents that score less; 1 is a perfect match.")
]
JudgedQueries: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--queries",
        help="JSON Lines file of queries, if judgements name them by id.",
        show_default="the collection's",
    ),
]
CacheFolder: TypeAlias = Annotated[
    Path | None, typer.Option("--cache", help="Cache folder for encoded corpora.", show_default="~/.cache/chamfer")
]
FormOption: TypeAlias = Annotated[Form, typer.Option("--form", help="Score by L2 distance or cosine similarity.")]
SpecialOption: TypeAlias = Annotated[
    str, typer.Option("--special", help="Weight of special tokens under plain IDF.", metavar="0|1|auto")
]
ValidationOption: TypeAlias = Annotated[
    str, typer.Option("--validation", help="Split to tune --special auto on.", metavar="SPLIT")
]
AllowEmpty: TypeAlias = Annotated[
    bool, typer.Option("--allow-empty", help="Accept documents without text; they rank last.")
]
RayAddress: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ray",
        help="Run on Ray: host:port of a cluster, auto (a cluster on this machine), or local (start workers here).",
        metavar="ADDRESS",
        callback=checked_address,
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def parse_mix(text: str) -> "Mix":
    """Read the value of ``--mix``."""
    from chamfer.weights.mix import Mix

    try:
        lexical, pooled = map(float, text.split(","))
    except ValueError:
        raise InputError(f"--mix must be two numbers, such as 0.05,0.4, not {text!r}") from None
    return Mix(lexical, pooled)


def parse_special(text: str) -> Special:
    """Read the value of ``--special``."""
    if text == AUTO:
        return AUTO
    if text in ("0", "1"):
        return float(text)
    raise InputError(f"--special must be 0, 1 or auto, not {text!r}")
