"""A corpus that is checked once and can be read again: from memory, or from a file by the positions of its lines."""

import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from chamfer.data.documents import Document, checked, corpus_file, document_from, metadata_json
from chamfer.data.fingerprint import fingerprint
from chamfer.data.frames import is_frame, rows_of
from chamfer.data.jsonlines import open_lines, parse_json_lines
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


def documents_from(
    source: Source, *, allow_empty: bool = False, check: Callable[[Document], None] | None = None
) -> Corpus:
    """Read and check documents from any supported source.

    A file is read once, from beginning to end. Only the positions of its lines stay in memory, so that its documents
    can be read again.

    Args:
        source: a mapping from ids to texts; a list of dicts (``id`` or ``_id``, ``text``, ``title``, anything else
            is metadata); a list of documents; a DataFrame with such columns; a path to JSON lines or to a BEIR folder;
            or a corpus that this function returned earlier, which is returned unchanged.
        allow_empty: accept documents without text, which rank last.
        check: called with each document; raises an error if the document cannot be used.

    >>> corpus = documents_from([{"id": "a", "text": "Cats sleep.", "year": 2021}, {"id": "b", "text": "Dogs bark."}])
    >>> len(corpus), [document.metadata for document in corpus.read()]
    (2, [{'year': 2021}, {}])
    """
    if isinstance(source, InMemory | InFile):
        return source
    if isinstance(source, str | Path):
        return _read_file(corpus_file(Path(source)), allow_empty=allow_empty, check=check)
    documents = tuple(checked(_given(source), allow_empty=allow_empty))
    if check is not None:
        for document in documents:
            check(document)
    return InMemory(documents)


@dataclass(frozen=True)
class InMemory:
    """A corpus in memory; see :class:`Corpus`."""

    documents: tuple[Document, ...]

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def digest(self) -> str:
        """See :class:`Corpus`."""
        return fingerprint(
            (document.id for document in self.documents),
            (document.content + metadata_json(document) for document in self.documents),
        )

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
        digest: digest of its bytes.
        starts: byte offset of each document's line.
        state: size and modification time when it was checked.
    """

    path: Path
    digest: str
    starts: "array[int]"
    state: tuple[int, int]

    def __len__(self) -> int:
        return len(self.starts)

    def read(self, start: int = 0) -> Iterator[Document]:
        """See :class:`Corpus`."""
        if start < len(self):
            with open_lines(self.path) as file:
                self._check_unchanged(file.fileno())
                file.seek(self.starts[start])
                for _, record in parse_json_lines(file, str(self.path)):
                    yield document_from(record, str(self.path))

    def take(self, places: Sequence[int]) -> list[Document]:
        """See :class:`Corpus`."""
        documents = []
        with open_lines(self.path) as file:
            self._check_unchanged(file.fileno())
            for place in places:
                file.seek(self.starts[place])
                documents.append(document_from(json.loads(file.readline()), str(self.path)))
        return documents

    def _check_unchanged(self, file: int) -> None:
        if _state(file) != self.state:
            raise InputError(f"{self.path} was changed while it was being read; try again")


def _read_file(path: Path, *, allow_empty: bool, check: Callable[[Document], None] | None) -> InFile:
    digest = hashlib.sha256()
    starts = array("q")
    start = end = 0

    def observed(lines: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal start, end
        for line in lines:
            digest.update(line)
            start, end = end, end + len(line)
            yield line

    with open_lines(path) as file:
        state = _state(file.fileno())
        records = ((f"{path}, line {number}", record) for number, record in parse_json_lines(observed(file), str(path)))
        documents = ((where, document_from(record, where)) for where, record in records)
        for document in checked(documents, allow_empty=allow_empty):
            if check is not None:
                check(document)
            starts.append(start)
    return InFile(path, digest.hexdigest()[:16], starts, state)


def _state(file: int) -> tuple[int, int]:
    found = os.fstat(file)
    return found.st_size, found.st_mtime_ns


def _given(source: Any) -> Iterator[tuple[str, Document]]:  # noqa: ANN401 -- anything a user may pass
    """Documents that are in memory already, each with its origin for error messages."""
    if is_frame(source):
        yield from ((where, document_from(row, where)) for where, row in rows_of(source))
        return
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
