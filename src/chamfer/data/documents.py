"""Documents as a user gives them: JSON lines with ids, texts and whatever else is known."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from chamfer.data.jsonlines import read_json_lines
from chamfer.errors import InputError

OWN = ("_id", "title", "text", "metadata")


class Document(NamedTuple):
    """An id, a text, and metadata as a JSON object."""

    id: str
    text: str
    metadata: str = "{}"


def corpus_file(path: Path) -> Path:
    """A corpus is a file of JSON lines, or a folder with a corpus.jsonl."""
    return path / "corpus.jsonl" if path.is_dir() else path


def read_documents(path: Path, *, allow_empty: bool = False) -> Iterator[Document]:
    """Read a corpus line by line: ``_id``, ``title``, ``text``, ``metadata``.

    The text is the title and the text with a space between. Other members of a line are metadata too.

    Args:
        path: a file, or a folder with a corpus.jsonl.
        allow_empty: keep documents without text, which can never be ranked above another; else one is an error.
    """
    path = corpus_file(path)
    known: set[str] = set()
    for number, record in read_json_lines(path):
        where = f"{path}, line {number}"
        identifier, text = identified(record, known, where)
        known.add(identifier)
        if not text and not allow_empty:
            raise InputError(
                f"{where}: document {identifier!r} has no text; remove it, or keep such documents, "
                "ranked last, with --allow-empty (allow_empty=True)"
            )
        yield Document(identifier, text, _metadata(record, where))


def identified(record: Mapping[str, Any], known: "Mapping[str, str] | set[str]", where: str) -> tuple[str, str]:
    """The id of a record, new and not empty, and its title and text joined by a space."""
    identifier = record.get("_id")
    if not isinstance(identifier, str) or not identifier:
        raise InputError(f"{where}: an object needs a string under '_id' that is not empty")
    if identifier in known:
        raise InputError(f"{where}: the id {identifier!r} was used before; ids must be unique")
    parts = []
    for key in ("title", "text"):
        value = record.get(key)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{where}: '{key}' of {identifier!r} must be a string, not {type(value).__name__}")
        parts.append((value or "").strip())
    return identifier, " ".join(part for part in parts if part)


def _metadata(record: Mapping[str, Any], where: str) -> str:
    inner = record.get("metadata") or {}
    if not isinstance(inner, dict):
        raise InputError(f"{where}: 'metadata' must be an object, not {type(inner).__name__}")
    own = {key: value for key, value in record.items() if key not in OWN}
    return json.dumps({**own, **inner}, ensure_ascii=False)
