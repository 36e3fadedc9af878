"""Documents: ids, texts, titles and metadata, and the checks that every document passes."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chamfer.data.jsonlines import read_json_lines
from chamfer.errors import InputError

ID, OTHER_ID, TITLE, TEXT, METADATA = "_id", "id", "title", "text", "metadata"
"""Fields of a record. BEIR uses ``_id``; ``id`` is read if there is no ``_id``."""

# Fields that an error lists.
SHOWN_FIELDS = 10


@dataclass(frozen=True, slots=True)
class Document:
    """A document.

    Args:
        id: a non-empty string, unique in its corpus.
        text: the text.
        title: the title, if there is one; encoded and stored in front of the text.
        metadata: values by name, of any type that JSON can hold; filters read them.

    >>> Document("a", "sleep all day", title="Cats", metadata={"year": 2021}).content
    'Cats sleep all day'
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise InputError(f"a document id must be a string, not {_named(self.id)}; write it as {str(self.id)!r}")
        if not self.id:
            raise InputError("a document id must not be empty")
        for name, value in ((TEXT, self.text), (TITLE, self.title)):
            if not isinstance(value, str):
                raise InputError(f"'{name}' of document {self.id!r} must be a string, not {type(value).__name__}")
        if not isinstance(self.metadata, Mapping):
            raise InputError(
                f"'metadata' of document {self.id!r} must be a mapping, not {type(self.metadata).__name__}; "
                "give each value a name"
            )

    @property
    def content(self) -> str:
        """Title and text joined by a space: what is encoded and stored."""
        return f"{self.title} {self.text}" if self.title and self.text else self.title or self.text


def metadata_json(document: Document) -> str:
    """The metadata of a document as it is stored."""
    return json.dumps(document.metadata, ensure_ascii=False, default=dict)  # for mappings that are not dicts


def corpus_file(path: Path) -> Path:
    """The file of a corpus: the path itself, or corpus.jsonl if the path is a folder."""
    return path / "corpus.jsonl" if path.is_dir() else path


def read_documents(path: Path, *, allow_empty: bool = False) -> Iterator[Document]:
    """Read and check a corpus line by line.

    Args:
        path: a file of JSON lines, or a folder with a corpus.jsonl.
        allow_empty: accept documents without text, which rank last.
    """
    path = corpus_file(path)
    lines = ((f"{path}, line {number}", record) for number, record in read_json_lines(path))
    return checked(((where, document_from(record, where)) for where, record in lines), allow_empty=allow_empty)


def checked(documents: Iterable[tuple[str, Document]], *, allow_empty: bool) -> Iterator[Document]:
    """Yield documents; raise an error for an id that was used before, or for a document without text.

    Args:
        documents: documents, each with its origin for error messages.
        allow_empty: accept documents without text.
    """
    known: set[str] = set()
    for where, document in documents:
        check_new(document.id, known, where)
        known.add(document.id)
        if not allow_empty and not document.content.strip():
            others = ", ".join(map(repr, list(document.metadata)[:SHOWN_FIELDS]))
            raise InputError(
                f"{where}: document {document.id!r} has no text"
                + (f" under 'text' (its other fields: {others})" if others else "")
                + "; remove it, or keep such documents, ranked last, with allow_empty=True (--allow-empty on the "
                "command line)"
            )
        yield document


def check_new(identifier: str, known: "Mapping[str, Any] | set[str]", where: str) -> None:
    """Raise an error if an id was used before."""
    if identifier in known:
        raise InputError(f"{where}: the id {identifier!r} was used before; ids must be unique")


def document_from(record: Mapping[str, Any], where: str) -> Document:
    """Make a document from a record: a JSON object, a dict or a row of a DataFrame.

    Fields other than the id, title and text are metadata. An object under ``metadata`` is merged with them, and wins.

    Args:
        record: ``_id`` or ``id``, ``title``, ``text``, ``metadata`` and any other fields.
        where: origin of the record, for error messages.

    >>> document_from({"id": "a", "text": "Cats sleep.", "year": 2021, "metadata": {"lang": "en"}}, "line 1").metadata
    {'year': 2021, 'lang': 'en'}
    """
    identifier = id_of(record, where)
    title, text = texts_of(record, identifier, where)
    inner = record.get(METADATA) or {}
    if not isinstance(inner, Mapping):
        raise InputError(f"{where}: 'metadata' must be an object, not {type(inner).__name__}")
    own = {_id_field(record), ID, TITLE, TEXT, METADATA}
    outer = {key: value for key, value in record.items() if key not in own}
    return Document(identifier, text, title, {**outer, **inner})


def id_of(record: Mapping[str, Any], where: str) -> str:
    """The id of a record: a non-empty string under ``_id``, or under ``id`` if there is no ``_id``."""
    name = _id_field(record)
    identifier = record.get(name)
    if identifier is None:
        raise InputError(f"{where}: the id is missing; write a string under '_id' (or 'id')")
    if not isinstance(identifier, str):
        raise InputError(
            f"{where}: '{name}' must be a string, not {_named(identifier)}; write it as a string, {str(identifier)!r}"
        )
    if not identifier:
        raise InputError(f"{where}: '{name}' must not be empty")
    return identifier


def texts_of(record: Mapping[str, Any], identifier: str, where: str) -> tuple[str, str]:
    """Title and text of a record, stripped; empty where they are missing."""
    for key in (TITLE, TEXT):
        value = record.get(key)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{where}: '{key}' of {identifier!r} must be a string, not {type(value).__name__}")
    return (record.get(TITLE) or "").strip(), (record.get(TEXT) or "").strip()


def _id_field(record: Mapping[str, Any]) -> str:
    return ID if record.get(ID) is not None else OTHER_ID


def _named(value: object) -> str:
    return f"the integer {value}" if isinstance(value, int) else type(value).__name__
