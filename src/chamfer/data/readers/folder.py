"""A folder of text, Markdown, HTML and PDF files: each is a document, and its path in the folder is its id."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chamfer.data.documents import ID, TEXT, TITLE
from chamfer.data.readers.formats import SUFFIXES
from chamfer.data.readers.one_document import record_of
from chamfer.data.reading import note
from chamfer.data.records import Records
from chamfer.errors import InputError

WHOLE = ("text", "markdown", "html", "pdf")
"""Formats in which a file is one document."""


def read_folder(folder: Path, name: str, form: str | None = None) -> Records:
    """Read a folder and the folders in it, except hidden ones.

    Args:
        folder: the folder.
        name: its name, for messages.
        form: read only files of this format.
    """
    if form is not None and form not in WHOLE:
        raise InputError(f"{name} is a folder, whose files are read as {', '.join(WHOLE)}, not {form}; give one file")
    chosen: list[tuple[str, str]] = []
    others: Counter[str] = Counter()
    for identifier in sorted(_files(folder)):
        found = SUFFIXES.get(Path(identifier).suffix.lower())
        if found in WHOLE and form in (None, found):
            chosen.append((identifier, found))
        else:
            others[Path(identifier).suffix.lower() or Path(identifier).name] += 1
    told = ", ".join(f"{suffix} ({count})" for suffix, count in others.most_common(5))
    told += f" and {len(others) - 5} other kinds" if len(others) > 5 else ""
    if not chosen:
        holds = f"only {told}" if told else "no files"
        raise InputError(
            f"{name} has no corpus.jsonl and no text, Markdown, HTML or PDF files, but {holds}; a table or a file of "
            "JSON lines is given by its own path"
        )
    if others:
        note(f"{name}: files of other kinds are left out: {told}")

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        for identifier, found in chosen:
            yield record_of(folder / identifier, str(folder / identifier), found, identifier)

    return Records(rows(), (ID, TITLE, TEXT))


def _files(folder: Path) -> Iterator[str]:
    """Paths of all files in a folder; a linked folder is entered once."""
    entered: set[str] = set()

    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename} cannot be read ({error.strerror}); correct its permissions") from error

    for parent, folders, files in os.walk(folder, followlinks=True, onerror=refuse):
        real = os.path.realpath(parent)
        folders[:] = sorted(one for one in folders if not one.startswith(".")) if real not in entered else []
        if real in entered:
            continue
        entered.add(real)
        for file in files:
            if not file.startswith("."):
                path = Path(parent, file)
                if path.is_symlink() and not path.exists():
                    raise InputError(f"{path} is a link to a file that is not there; remove it")
                yield str(path.relative_to(folder))
