"""A corpus that is checked once and can be read again: from memory, from JSON lines by position, or from a copy."""

import hashlib
import json
import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from chamfer.data.documents import STANDARD, Columns, Document, checked, corpus_file, document_from, metadata_json
from chamfer.data.fingerprint import fingerprint
from chamfer.data.frames import is_frame, records_of
from chamfer.data.jsonlines import lines_of, open_lines, parse_json_lines
from chamfer.data.readers.datasets import is_dataset, read_dataset
from chamfer.data.readers.files import read_file
from chamfer.data.readers.folder import read_folder
from chamfer.data.readers.formats import format_of
from chamfer.data.readers.text import UNNAMED
from chamfer.data.reading import USUAL, Reading, note
from chamfer.data.recognised import documents_of
from chamfer.data.records import Records
from chamfer.data.spool import OnDisk, copied, spooled
from chamfer.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


class Corpus(Protocol):
    """Checked documents in a fixed order."""

    @property
    def digest(self) -> str:
        """Equal only for the same documents in the same order."""
        ...

    def __len__(self) -> int: ...

    def read(self, start: int = 0) -> Iterator[Document]:
        """Yield the documents in order, starting at a place."""
        ...

    def take(self, places: Sequence[int]) -> list[Document]:
        """The documents at some places, in the given order."""
        ...


Source: TypeAlias = "str | Path | Corpus | Mapping[str, str] | Iterable[Document | Mapping[str, Any]] | pd.DataFrame"
"""What :func:`documents_from` takes."""

STANDARD_INPUT = "-"


def documents_from(
    source: Source,
    *,
    reading: Reading = USUAL,
    allow_empty: bool = False,
    check: Callable[[Document], None] | None = None,
) -> Corpus:
    """Read and check documents from any supported source.

    A source is read once, from beginning to end. Of JSON lines, only the positions of the lines stay in memory, so that
    documents can be read again; what has no such positions is written to a temporary file.

    Args:
        source: a mapping from ids to texts; a list of dicts (``id`` or ``_id``, ``text``, ``title``, anything else
            is metadata); a list of documents; a DataFrame with such columns; a dataset of ``datasets``; a path to a
            file, to a BEIR folder, or to a folder of text, Markdown, HTML or PDF files; ``-`` for standard input; or a
            corpus that this function returned earlier, which is returned unchanged.
        reading: the format, and which columns hold ids, texts and titles; recognised by default.
        allow_empty: accept documents without text, which rank last.
        check: called with each document; raises an error if the document cannot be used.

    >>> corpus = documents_from([{"id": "a", "text": "Cats sleep.", "year": 2021}, {"id": "b", "text": "Dogs bark."}])
    >>> len(corpus), [document.metadata for document in corpus.read()]
    (2, [{'year': 2021}, {}])
    """
    if isinstance(source, InMemory | InFile | OnDisk):
        return source
    keep = _Checks(reading, allow_empty, check)
    if isinstance(source, str | Path):
        return _from_path(source, keep)
    if reading.format is not None or reading.delimiter is not None:
        raise InputError("a format and a delimiter are those of a file; leave them out, or give a path")
    if is_dataset(source):
        return _on_disk(read_dataset(source), "the dataset", keep)
    if is_frame(source):
        return InMemory(tuple(keep.documents(records_of(source), "the DataFrame")[1]))
    if reading.fields:
        return InMemory(tuple(keep.documents(Records(_dicts(source)), "the list")[1]))
    return InMemory(tuple(keep.checked(_given(source), STANDARD)))


class _Checks(NamedTuple):
    """From records to documents that passed all checks."""

    reading: Reading
    allow_empty: bool
    check: Callable[[Document], None] | None

    def documents(self, records: Records, name: str) -> tuple[Columns, Iterator[Document]]:
        """The columns of a source, and its documents, which are read and checked one by one."""
        columns, documents = documents_of(records, self.reading, name)
        return columns, self.checked(documents, columns)

    def checked(self, documents: Iterable[tuple[str, Document]], columns: Columns) -> Iterator[Document]:
        """Documents that passed all checks."""
        return checked(documents, allow_empty=self.allow_empty, columns=columns, check=self.check)


def _from_path(given: str | Path, keep: _Checks) -> Corpus:
    path, reading = Path(given), keep.reading
    if str(given) == STANDARD_INPUT:
        with copied(sys.stdin.buffer) as copy:
            return _from_file(copy, UNNAMED, keep)
    if path.is_dir():
        if not corpus_file(path).is_file():
            return _on_disk(read_folder(path, str(path), reading.format), str(path), keep)
        path = corpus_file(path)
    if path.exists() and not path.is_file():  # a pipe
        with path.open("rb") as file, copied(file) as copy:
            return _from_file(copy, str(path), keep)
    if not path.is_file():
        link = " (a link to a file that is not there)" if path.is_symlink() else ""
        raise InputError(f"there is no file {path}{link}")
    return _from_file(path, str(path), keep)


def _from_file(path: Path, name: str, keep: _Checks) -> Corpus:
    form = format_of(path, name, keep.reading.format)
    if form == "jsonl" and str(path) == name and keep.reading.delimiter is None:
        return _read_lines(path, keep)
    before = _state(path)
    corpus = _on_disk(read_file(path, name, form, keep.reading), name, keep)
    _check_unchanged(path, before, name)
    return corpus


def _on_disk(records: Records, name: str, keep: _Checks) -> Corpus:
    corpus = spooled(keep.documents(records, name)[1], typed=records.typed, grouped=records.grouped)
    for sentence in corpus.types.notes if corpus.types is not None else ():
        note(f"{name}: {sentence}")
    if not len(corpus):
        raise InputError(f"{name} holds no documents" + ("" if records.names is None else ", only names of columns"))
    return corpus


@dataclass(frozen=True)
class InMemory:
    """A corpus in memory; see :class:`Corpus`."""

    documents: tuple[Document, ...]

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def digest(self) -> str:
        """See :class:`Corpus`."""
        parts: list[tuple[str, str]] = []
        for document in self.documents:
            if document.title:
                parts.append(("", document.title))  # no id is empty
            parts.append((document.id, document.text + metadata_json(document)))
        return fingerprint((name for name, _ in parts), (text for _, text in parts))

    def read(self, start: int = 0) -> Iterator[Document]:
        """See :class:`Corpus`."""
        return islice(self.documents, start, None)

    def take(self, places: Sequence[int]) -> list[Document]:
        """See :class:`Corpus`."""
        return [self.documents[place] for place in places]


@dataclass(frozen=True)
class InFile:
    """A corpus in a file of JSON lines; see :class:`Corpus`.

    Args:
        path: the file.
        digest: digest of its bytes, and of the columns if they are not the standard ones.
        starts: byte offset of each document's line.
        state: size and modification time when it was checked.
        columns: which fields hold the id, the text and the title.
    """

    path: Path
    digest: str
    starts: "array[int]"
    state: tuple[int, int]
    columns: Columns = STANDARD

    def __len__(self) -> int:
        return len(self.starts)

    def read(self, start: int = 0) -> Iterator[Document]:
        """See :class:`Corpus`."""
        if start < len(self):
            with open_lines(self.path) as file:
                _check_unchanged(file.fileno(), self.state, str(self.path))
                file.seek(self.starts[start])
                for row, (_, record) in enumerate(parse_json_lines(file, str(self.path)), start + 1):
                    yield document_from(record, str(self.path), self.columns, row)

    def take(self, places: Sequence[int]) -> list[Document]:
        """See :class:`Corpus`."""
        documents = []
        with open_lines(self.path) as file:
            _check_unchanged(file.fileno(), self.state, str(self.path))
            for place in places:
                file.seek(self.starts[place])
                record = json.loads(file.readline())
                documents.append(document_from(record, str(self.path), self.columns, place + 1))
        return documents


def _read_lines(path: Path, keep: _Checks) -> InFile:
    digest = hashlib.sha256()
    starts = array("q")
    start = end = 0

    def observed(lines: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal start, end
        for line in lines:
            digest.update(line)
            start, end = end, end + len(line)
            yield line

    name = str(path)
    with open_lines(path) as file:
        state = _state(file.fileno())
        lines = parse_json_lines(observed(lines_of(file, name)), name)
        columns, documents = keep.documents(Records((f"{name}, line {n}", record) for n, record in lines), name)
        for _ in documents:
            starts.append(start)
        _check_unchanged(file.fileno(), state, name)
    if columns != STANDARD:
        digest.update(json.dumps(columns).encode())
    return InFile(path, digest.hexdigest()[:16], starts, state, columns)


def _state(file: int | Path) -> tuple[int, int]:
    found = os.fstat(file) if isinstance(file, int) else file.stat()
    return found.st_size, found.st_mtime_ns


def _check_unchanged(file: int | Path, before: tuple[int, int], name: str) -> None:
    """Refuse a file that was changed: what was read of it may be half old and half new."""
    if _state(file) != before:
        raise InputError(f"{name} was changed while it was being read; try again")


def _given(source: Any) -> Iterator[tuple[str, Document]]:  # noqa: ANN401 -- anything a user may pass
    """Documents that are in memory already, each with its origin for error messages."""
    if isinstance(source, Mapping):
        yield from ((f"documents[{identifier!r}]", Document(identifier, text)) for identifier, text in source.items())
        return
    if not isinstance(source, Iterable):
        raise InputError(
            f"documents must be a mapping from ids to texts, a list of dicts or Documents, a DataFrame or a path, "
            f"not {type(source).__name__}"
        )
    for place, one in enumerate(source):
        where = f"documents[{place}]"
        if isinstance(one, Document):
            yield where, one
        elif isinstance(one, Mapping):
            yield where, document_from(one, where)
        else:
            raise InputError(
                f"{where} must be a dict with 'id' and 'text', or a Document, not {type(one).__name__}; "
                "texts alone have no ids, so give a mapping from ids to texts"
            )


def _dicts(source: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 -- anything a user may pass
    """Dicts whose fields the user names."""
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise InputError("fields are those of dicts, rows or files; leave them out, or give a list of dicts")
    for place, one in enumerate(source):
        if not isinstance(one, Mapping):
            raise InputError(f"documents[{place}] must be a dict, because fields are named; not {type(one).__name__}")
        yield f"documents[{place}]", dict(one)
