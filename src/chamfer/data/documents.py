"""Documents: ids, texts, titles and metadata, and the checks that every document passes."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from chamfer.errors import InputError

ID, OTHER_ID, TITLE, TEXT, METADATA = "_id", "id", "title", "text", "metadata"
"""Fields of a record. BEIR uses ``_id``; ``id`` is read if there is no ``_id``."""

# Fields that an error lists.
SHOWN_FIELDS = 10


class Passage(NamedTuple):
    """Which part of a document's text a passage is.

    >>> str(Passage(3, 12, 2040, 3105))
    'passage 3 of 12'
    >>> Passage(3, 12, 2040, 3105).as_json()
    {'number': 3, 'of': 12, 'start': 2040, 'stop': 3105}
    """

    number: int
    """Its number in the document, from 1."""
    of: int
    """The number of passages of the document."""
    start: int
    """Where it begins in the text of the document, in characters."""
    stop: int
    """Where it ends."""

    def __str__(self) -> str:
        return f"passage {self.number} of {self.of}"

    def as_json(self) -> dict[str, int]:
        """A dict that ``json.dumps`` accepts."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Document:
    """A document.

    Args:
        id: a non-empty string, unique in its corpus.
        text: the text.
        title: the title, if there is one; it is shown apart from the text, and encoded in front of it.
        metadata: values by name, of any type that JSON can hold; filters read them.
        passage: which part of a longer document this is, if an index of passages holds it.

    >>> Document("a", "sleep all day", title="Cats", metadata={"year": 2021}).content
    'Cats sleep all day'
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    passage: Passage | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise InputError(
                f"a document id must be a string, not {_shown(self.id)}; write it as {_as_text(self.id)!r}"
            )
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
        """Title and text joined by a space: what is encoded."""
        return f"{self.title} {self.text}" if self.title and self.text else self.title or self.text


def metadata_json(document: Document) -> str:
    """The metadata of a document as it is stored."""
    return json.dumps(document.metadata, ensure_ascii=False, default=dict)  # for mappings that are not dicts


def corpus_file(path: Path) -> Path:
    """The file of a corpus: the path itself, or corpus.jsonl if the path is a folder."""
    return path / "corpus.jsonl" if path.is_dir() else path


def checked(
    documents: Iterable[tuple[str, Document]],
    *,
    allow_empty: bool,
    columns: "Columns | None" = None,
    check: Callable[[Document], None] | None = None,
) -> Iterator[Document]:
    """Yield documents; raise an error for an id that was used before, or for a document without text.

    Args:
        documents: documents, each with its origin for error messages.
        allow_empty: accept documents without text.
        columns: where their texts come from, for error messages.
        check: a further check, whose errors do not say where a document is from.
    """
    columns = columns or STANDARD
    known: set[str] = set()
    for where, document in documents:
        check_new(document.id, known, where)
        known.add(document.id)
        if not allow_empty and not document.content.strip():
            raise InputError(f"{where}: {no_text(document, columns)}")
        if check is not None:
            try:
                check(document)
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
        yield document


def no_text(document: Document, columns: "Columns") -> str:
    """The sentence about a document without text."""
    others = ", ".join(map(repr, list(document.metadata)[:SHOWN_FIELDS]))
    return (
        f"document {document.id!r} has no text"
        + (f" under {' or '.join(map(repr, columns.texts))} (its other fields: {others})" if others else "")
        + "; remove it, or keep such documents, ranked last, with allow_empty=True (--allow-empty on the command line)"
    )


def check_new(identifier: str, known: "Mapping[str, Any] | set[str]", where: str) -> None:
    """Raise an error if an id was used before."""
    if identifier in known:
        raise InputError(f"{where}: the id {identifier!r} was used before; ids must be unique")


class Columns(NamedTuple):
    """The columns of a source, or the fields of its records, that are not metadata."""

    id: str | None = None
    """Column of ids; None for ``_id``, or ``id`` if there is no ``_id``."""
    texts: tuple[str, ...] = (TEXT,)
    """Columns of texts, which are joined by blank lines."""
    title: str | None = TITLE
    """Column of titles, if there is one."""
    numbered: bool = False
    """Whether the number of the row serves as id."""


STANDARD = Columns()


def document_from(record: Mapping[str, Any], where: str, columns: Columns = STANDARD, row: int = 0) -> Document:
    """Make a document from a record: a JSON object, a dict or a row of a table.

    Fields other than the id, title and text are metadata. An object under ``metadata`` is merged with them, and wins.

    Args:
        record: the fields, by name.
        where: origin of the record, for error messages.
        columns: which fields hold the id, the text and the title.
        row: number of the record, from 1.

    >>> document_from({"id": "a", "text": "Cats sleep.", "year": 2021, "metadata": {"lang": "en"}}, "line 1").metadata
    {'year': 2021, 'lang': 'en'}
    >>> faq = Columns(texts=("answer",), title="question", numbered=True)
    >>> document_from({"question": "Why?", "answer": "Because.", "topic": "life"}, "line 2", faq, row=1)
    Document(id='1', text='Because.', title='Why?', metadata={'topic': 'life'})
    """
    identifier = str(row) if columns.numbered else id_of(record, where, columns.id)
    texts = [_text(record, name, identifier, where) for name in columns.texts]
    title = "" if columns.title is None else _text(record, columns.title, identifier, where)
    inner = record.get(METADATA) or {}
    own = {*columns.texts, columns.title, METADATA}
    if not columns.numbered:
        own |= {ID, _id_field(record)} if columns.id is None else {columns.id}
    if not isinstance(inner, Mapping):
        raise InputError(f"{where}: 'metadata' must be an object, not {type(inner).__name__}; give it another name")
    outer = {key: value for key, value in record.items() if key not in own}
    return Document(identifier, "\n\n".join(filter(None, texts)), title, {**outer, **inner})


def id_of(record: Mapping[str, Any], where: str, name: str | None = None) -> str:
    """The id of a record, a string that is not empty; an integer becomes one.

    Args:
        record: the fields, by name.
        where: origin of the record, for error messages.
        name: field of the id; by default ``_id``, or ``id`` if there is no ``_id``.
    """
    fallback = name is None
    name = name or _id_field(record)
    identifier = record.get(name)
    if identifier is None:
        usual = "write a string under '_id' (or 'id')" if fallback else f"there is nothing under {name!r}"
        raise InputError(f"{where}: the id is missing; {usual}")
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        return str(identifier)
    if not isinstance(identifier, str):
        raise InputError(
            f"{where}: '{name}' must be a string, not {type(identifier).__name__}; write it as a string, "
            f"{_as_text(identifier)!r}"
        )
    if not identifier:
        raise InputError(f"{where}: '{name}' must not be empty")
    return identifier


def texts_of(record: Mapping[str, Any], identifier: str, where: str) -> tuple[str, str]:
    """Title and text of a record, stripped; empty where they are missing. Numbers become strings."""
    return _text(record, TITLE, identifier, where), _text(record, TEXT, identifier, where)


def _text(record: Mapping[str, Any], name: str, identifier: str, where: str) -> str:
    value = record.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "" if value != value else _as_text(value)  # NaN: a table without a value
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where}: '{name}' of {identifier!r} must be a string, not {type(value).__name__}")
    return (value or "").strip()


def _id_field(record: Mapping[str, Any]) -> str:
    return ID if record.get(ID) is not None else OTHER_ID


def _shown(value: object) -> str:
    return f"the integer {value}" if isinstance(value, int) else type(value).__name__


def _as_text(value: object) -> str:
    """A number as text; tables make 1.0 of 1 where another row has no number."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
