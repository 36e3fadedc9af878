"""The public handle of an index: read it, and change it."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from chamfer.data.corpus import Source, documents_from
from chamfer.data.documents import Document
from chamfer.data.reading import Reading
from chamfer.errors import InputError, InputWarning
from chamfer.index.description import describe
from chamfer.index.example_queries import EXAMPLES, examples_of
from chamfer.index.field_counts import LISTED_VALUES, Fields, checked_count, fields_of_tally
from chamfer.index.filters import as_filter
from chamfer.index.manifest import check_is_index
from chamfer.index.notes import filter_notes
from chamfer.index.report import BuildReport
from chamfer.index.snapshot import Snapshot
from chamfer.index.splitting import split_index
from chamfer.index.texts import check_storable
from chamfer.index.verify import verify
from chamfer.index.writing import Writer, writing
from chamfer.support.progress import shown
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.workers.connect import workers_at

if TYPE_CHECKING:  # it imports torch, which takes seconds, and only add needs it
    from chamfer.encode.encoder import Encoder


class Index:
    """An index in a folder. Open one with :meth:`open`; build one with :func:`chamfer.build_index`.

    The first read opens the newest commit; from then on it reads that commit, and its own changes. Every change is
    one atomic commit or a few, and takes the writer lock of the folder. A ``with`` block holds that lock from beginning
    to end, so that no other process writes in between.

    Args:
        folder: folder of the index.
        encoder: encoder for documents that are added; by default, the one that the index was built with.

    >>> from chamfer import Index, build_index
    >>> folder = getfixture("tmp_path")
    >>> report = build_index(folder, {"a": "Paris is the capital of France.", "b": "Bread is baked from flour."})
    >>> with Index.open(folder) as index:
    ...     report = index.add([{"id": "c", "text": "Milk is white.", "year": 2024}])
    ...     deleted = index.delete(["b"])
    >>> len(index), "b" in index, index["c"].metadata
    (2, False, {'year': 2024})
    """

    def __init__(self, folder: Path, encoder: "Encoder | None" = None) -> None:
        self._folder, self._encoder = folder, encoder
        self._snapshot: Snapshot | None = None
        self._writer: Writer | None = None
        self._held = ExitStack()

    @classmethod
    def open(cls, folder: str | Path, *, encoder: "Encoder | None" = None) -> Self:
        """Open an index, which may be unfinished or damaged: :meth:`info` and :meth:`verify` say so.

        Args:
            folder: folder of the index.
            encoder: encoder for documents that are added; by default, the one that the index was built with, which is
                loaded when it is first needed.
        """
        check_is_index(Path(folder))
        return cls(Path(folder), encoder)

    def __enter__(self) -> Self:
        self._writer = self._held.enter_context(writing(self._folder))
        self._snapshot = None  # another process may have written before the lock was taken
        return self

    def __exit__(self, *_error: object) -> None:
        self._writer = None
        self._held.close()

    @property
    def folder(self) -> Path:
        """The folder of the index."""
        return self._folder

    @property
    def snapshot(self) -> Snapshot:
        """Internal: the commit that is read: the newest at the first read, or after the last change through this."""
        if self._snapshot is None:
            self._snapshot = Snapshot.open(self._folder)
        return self._snapshot

    @property
    def encoder(self) -> "Encoder | None":
        """The encoder for documents that are added; None if it is not loaded yet."""
        return self._encoder

    @property
    def frequencies(self) -> DocumentFrequencies:
        """The number of documents that contain each token."""
        return self.snapshot.frequencies

    def __len__(self) -> int:
        """The number of documents."""
        return self.snapshot.manifest.documents

    def __iter__(self) -> Iterator[str]:
        """All document ids, sorted."""
        snapshot = self.snapshot
        return iter(sorted({name for one in snapshot.segments for name in one.database.ids(one.alive)}))

    def __contains__(self, identifier: object) -> bool:
        return isinstance(identifier, str) and bool(self.snapshot.find([identifier]))

    def __getitem__(self, identifier: str) -> Document:
        """A document by id."""
        [document] = self.snapshot.wholes([identifier])
        return document

    def __repr__(self) -> str:
        try:
            documents = f", documents={len(self)}"
        except (InputError, OSError):  # it is unfinished or damaged, which info and verify explain
            documents = ""
        return f"Index({str(self._folder)!r}{documents})"

    def add(
        self,
        documents: Source,
        *,
        replace: bool = False,
        id_field: str | None = None,
        text_field: str | Sequence[str] | None = None,
        title_field: str | None = None,
        format: str | None = None,  # noqa: A002 -- what every library calls it
        delimiter: str | None = None,
        allow_empty: bool = False,
        progress: bool | None = None,
        ray: str | None = None,
    ) -> BuildReport:
        """Add documents.

        Documents that the index already holds unchanged are skipped, so an interrupted call can be repeated.

        Args:
            documents: see :func:`chamfer.build_index`.
            replace: replace documents that have the same ids; otherwise such an id is an error.
            id_field: column of ids; this and the four below are explained at :func:`chamfer.build_index`.
            text_field: column of texts, or several.
            title_field: column of titles.
            format: format of a file.
            delimiter: character between the fields of CSV or TSV.
            allow_empty: accept documents without text, which rank last.
            progress: show a progress bar; by default, if stderr is a terminal.
            ray: address of a Ray cluster that encodes, or ``local``; this process by default.
        """
        reading = Reading(id_field, text_field, title_field, format, delimiter)
        corpus = documents_from(documents, reading=reading, allow_empty=allow_empty, check=check_storable)
        if not len(corpus):
            return BuildReport(0, 0)

        from chamfer.index.adding import add_documents
        from chamfer.index.encoder import load_encoder

        if self._encoder is None:
            self._encoder = load_encoder(self.snapshot.settings, "document")
        with (
            workers_at(ray) as workers,
            self._writing() as writer,
            shown(progress)("adding documents", len(corpus)) as advance,
        ):
            return add_documents(
                writer, corpus.read(), self._encoder, replacing=replace, advance=advance, workers=workers
            )

    def delete(self, ids: Iterable[str] | None = None, *, where: str | None = None) -> int:
        """Delete documents by id or by filter, and return how many were deleted.

        Args:
            ids: ids of documents; unknown ones are ignored.
            where: filter over metadata, such as ``year < 2000``.
        """
        condition = as_filter(where)
        if (ids is None) == (condition is None):
            raise InputError("documents are deleted by ids or by where; give one of the two")
        for note in filter_notes(self.snapshot, condition):
            warnings.warn(note, InputWarning, stacklevel=2)
        with self._writing() as writer:
            return writer.delete(writer.held.matching(condition) if condition is not None else ids or ())

    def compact(self) -> None:
        """Merge all segments into one and drop deleted documents; retrain centroids that the index has outgrown."""
        with self._writing() as writer:
            writer.compact()

    def info(self) -> dict[str, Any]:
        """Number of documents and tokens, settings and sizes."""
        return describe(self._folder)

    def fields(self, values: int = LISTED_VALUES, *, progress: bool | None = None) -> Fields:
        """The metadata fields with counts: kind, number of documents, most frequent values, range of numbers and dates.

        What is counted is kept beside the index, so that only new documents are counted the next time.

        Args:
            values: number of values of each field, up to 1,000.
            progress: show a progress bar; by default, if stderr is a terminal.

        Returns:
            A list of fields, the most frequent one first. A document in passages counts once; those that were deleted
            do not count.

        >>> from chamfer import Index, build_index
        >>> folder = getfixture("tmp_path")
        >>> texts = {"a": "Paris is the capital of France.", "b": "Bread is baked from flour.", "c": "Milk is white."}
        >>> years = {"a": 2021, "b": 2023, "c": 2023}
        >>> report = build_index(folder, [{"id": id, "text": text, "year": years[id]} for id, text in texts.items()])
        >>> [year] = Index.open(folder).fields()
        >>> year.name, year.kind, year.documents, year.lowest, year.values[0].value, year.values[0].documents
        ('year', 'number', 3, 2021, 2023, 2)
        """
        return fields_of_tally(self.snapshot.count_fields(shown(progress)), checked_count(values))

    def example_queries(self, count: int = EXAMPLES) -> list[str]:
        """A few queries to try: titles of documents, spread over the index, or beginnings of texts that have none.

        They are the same for the same commit; an empty list if nothing would make a query.
        """
        return examples_of(self.snapshot, count)

    def verify(self, *, progress: bool | None = None) -> list[str]:
        """Read every file, compare checksums and counts, and return one sentence per problem; empty if all is well.

        Args:
            progress: show a progress bar; by default, if stderr is a terminal.
        """
        return verify(self._folder, shown(progress))

    def split(self, out: str | Path, *, shards: int = 2, progress: bool | None = None) -> dict[str, Any]:
        """Split the index into shards; returns ``version``, ``documents``, and ``shards``: the documents in each.

        Args:
            out: folder of the shards; splitting into it again makes a new version.
            shards: number of shards.
            progress: show a progress bar; by default, if stderr is a terminal.
        """
        made = split_index(self._folder, out, shards=shards, progress=shown(progress))
        return {
            "version": made.version,
            "documents": made.documents,
            "shards": {part.name: part.documents for part in made.shards},
        }

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        try:
            if self._writer is not None:
                yield self._writer
            else:
                with writing(self._folder) as writer:
                    yield writer
        finally:
            self._snapshot = None
