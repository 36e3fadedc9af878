"""Arguments that several commands share, so that they mean the same everywhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from chamfer.errors import InputError
from chamfer.weights.special import Special


def checked_address(address: str | None) -> str | None:
    """Refuse an address of Ray before anything is read or loaded."""
    if address is not None:
        from chamfer.workers.ray_cluster import check_address

        check_address(address)
    return address


class FormName(StrEnum):
    """The forms of the score, for the command line."""

    l2 = "l2"
    cosine = "cosine"


class PrecisionName(StrEnum):
    """What an index keeps of a vector, for the command line."""

    float16 = "float16"
    int8 = "int8"
    four = "4bit"
    two = "2bit"


FirstStage: TypeAlias = Annotated[
    str,
    typer.Option("--first-stage", help="auto, exhaustive, centroids, bm25, dense, muvera, or two: bm25+dense."),
]
EncoderName: TypeAlias = Annotated[
    str, typer.Option("--encoder", help="Model hub name, folder, or 'minilm' (offline).", metavar="NAME")
]
QueryLength: TypeAlias = Annotated[
    int | None, typer.Option("--query-length", help="Cut queries to so many tokens.", metavar="TOKENS")
]
DocumentLength: TypeAlias = Annotated[
    int | None, typer.Option("--document-length", help="Cut documents to so many tokens.", metavar="TOKENS")
]
CacheFolder: TypeAlias = Annotated[
    Path | None, typer.Option("--cache", help="Where vectors are kept.", show_default="the user's cache folder")
]
FormOption: TypeAlias = Annotated[FormName, typer.Option("--form", help="Form of the score.")]
SpecialOption: TypeAlias = Annotated[
    str, typer.Option("--special", help="Weight of special tokens under plain IDF: 0, 1 or auto.")
]
ValidationOption: TypeAlias = Annotated[
    str, typer.Option("--validation", help="The split that --special auto is chosen on.", metavar="SPLIT")
]
AllowEmpty: TypeAlias = Annotated[
    bool, typer.Option("--allow-empty", help="Keep documents without text; they rank last.")
]
RayAddress: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ray",
        help="Work on the Ray cluster at host:port (auto: the one that runs here), or on local workers.",
        metavar="ADDRESS|local",
        callback=checked_address,
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def parse_special(text: str) -> Special:
    """Read the value of ``--special``."""
    if text == "auto":
        return "auto"
    if text in ("0", "1"):
        return float(text)
    raise InputError(f"--special is 0, 1 or auto, not {text!r}")
