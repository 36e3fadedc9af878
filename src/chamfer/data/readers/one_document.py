"""Files that are one document each."""

from pathlib import Path
from typing import Any

from chamfer.data.documents import ID, METADATA, TEXT, TITLE
from chamfer.data.readers.formats import HEAD, held_by
from chamfer.data.readers.html import html_parts
from chamfer.data.readers.markdown import markdown_parts
from chamfer.data.readers.parts import Parts
from chamfer.data.readers.pdf import pdf_parts
from chamfer.data.readers.text import check_encoding, check_no_nul, decoded
from chamfer.data.reading import FORMATS
from chamfer.data.records import Records
from chamfer.errors import InputError

LARGEST = 1 << 30
"""Bytes of the largest file: it is in memory while it is read."""


def read_one(path: Path, name: str, form: str) -> Records:
    """Read a file as one document, whose id is the name of the file."""
    return Records(iter([record_of(path, name, form, path.name)]), (ID, TITLE, TEXT))


def record_of(path: Path, name: str, form: str, identifier: str) -> tuple[str, dict[str, Any]]:
    """A file as a record, with its origin for error messages."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise InputError(f"{name} has {size:,} bytes, and a document may have {LARGEST:,}; split it")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror}); remove it, or correct its permissions") from error
    except MemoryError as error:
        raise InputError(f"{name} does not fit into memory; split it") from error
    parts = _parts(content, name, form)
    where = name if parts.text or form != "pdf" else f"{name} (pages without text; OCR adds it, for example ocrmypdf)"
    return where, {ID: identifier, TITLE: parts.title, TEXT: parts.text, METADATA: parts.metadata}


def _parts(content: bytes, name: str, form: str) -> Parts:
    if form == "pdf":
        return pdf_parts(content, name)
    held = held_by(content[:HEAD], form)
    if held is not None:
        raise InputError(f"{name} is {f'{FORMATS[held]}; give it that suffix' if held in FORMATS else held}")
    check_encoding(content[:HEAD], name)
    check_no_nul(content, name)
    if form == "html":
        return html_parts(content, name)
    text = decoded(content, name, name)
    return markdown_parts(text, name) if form == "markdown" else Parts("", text.strip())
