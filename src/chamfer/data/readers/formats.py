"""The format of a file: by its suffix, and checked against what it holds."""

import codecs
import json
from pathlib import Path

from chamfer.data.documents import ID, OTHER_ID, TEXT
from chamfer.data.readers.text import check_encoding, check_no_nul
from chamfer.data.reading import FORMATS, note
from chamfer.errors import InputError

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".pdf": "pdf",
}
"""Formats by suffix."""

# How files of other formats begin, what they are, and what to do with them.
OTHERS = (
    (b"\x1f\x8b", "compressed with gzip", "unpack it with gunzip"),
    (b"BZh91AY&SY", "compressed with bzip2", "unpack it with bunzip2"),
    (b"\xfd7zXZ\x00", "compressed with xz", "unpack it with unxz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it with unzstd"),
    (b"PK\x03\x04", "a ZIP archive or an Office document", "unpack it, or save the table as CSV or the text as PDF"),
    (b"\xd0\xcf\x11\xe0", "an Office document", "save the table as CSV, or the text as PDF"),
    (b"ARROW1\0", "an Arrow file", "save it as Parquet"),
    (b"SQLite format 3\0", "an SQLite database", "export a table as CSV"),
)
HEAD = 1 << 16


def format_of(path: Path, name: str, asked: str | None = None) -> str:
    """The format of a file, one of :data:`chamfer.data.reading.FORMATS`.

    Args:
        path: a file that can be read more than once.
        name: its name, for messages.
        asked: the format that the user says.
    """
    head = head_of(path, name)
    form = asked or SUFFIXES.get(Path(name).suffix.lower())
    held = binary_format(head, name, form, asked=asked is not None)
    if held is not None:
        if form not in (None, held):
            raise InputError(f"{name} is not {FORMATS[form]}, but {FORMATS[held]}; {_give(held)}")
        return held
    if form != "jsonl" and not head.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError(f"{name} is empty; it holds no documents")
    if form in (None, "json"):
        return _of_json(head, name, form, asked)
    return form


def head_of(path: Path, name: str) -> bytes:
    """How a file begins; ``name`` is its name for messages."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except PermissionError as error:
        raise InputError(f"{name} cannot be read ({error.strerror}); correct its permissions") from error


def binary_format(head: bytes, name: str, form: str | None, *, asked: bool = False) -> str | None:
    """The format of a file that is not text, None for text in UTF-8; anything else is an error.

    Args:
        head: how the file begins.
        name: its name, for messages.
        form: the format that it should have, if that is known.
        asked: whether the user said so, and not the suffix.
    """
    held = held_by(head, form)
    if held in FORMATS:
        return held
    if held is not None:
        raise InputError(f"{name} is {held}")
    if form in ("parquet", "pdf"):
        suffix = "" if asked else f"has the suffix {Path(name).suffix} but "
        what = "is empty" if not head else f"{suffix}is not {FORMATS[form]}"
        raise InputError(f"{name} {what}; write or download it again")
    check_encoding(head, name)
    check_no_nul(head, name, FORMATS[form] if form else "text")
    return None


def _of_json(head: bytes, name: str, form: str | None, asked: str | None) -> str:
    """Whether a file is JSON or JSON lines; without a suffix, it must begin as one of them."""
    begins = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if asked or begins.startswith(b"[") or (form == "json" and not begins.startswith(b"{")):
        return "json"
    if not begins.startswith(b"{"):
        raise InputError(
            f"the format of {name} cannot be recognised; name it with --format (format in Python): {', '.join(FORMATS)}"
        )
    first, *rest = begins.splitlines()
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return "json" if form == "json" or len(begins.splitlines()) > 1 else "jsonl"
    if any(line.strip() for line in rest):
        if form == "json":
            note(f"{name} contains JSON lines; reading it as such")
        return "jsonl"
    return "jsonl" if form is None and {ID, OTHER_ID, TEXT} & {*record} else "json"


def held_by(head: bytes, form: str | None) -> str | None:
    """What a file that is no text holds: a format, or a sentence about what to do; None for text."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"%PDF-") or (form == "pdf" and b"%PDF-" in head[:1024]):  # other bytes may come before it
        return "pdf"
    return next((f"{what}; {remedy}" for begins, what, remedy in OTHERS if head.startswith(begins)), None)


def _give(form: str) -> str:
    return f"read it with --format {form} (format={form!r} in Python)"
