"""From records to documents, whose columns are recognised."""

from collections.abc import Iterator
from itertools import chain

from chamfer.data.columns import check_seen, columns_of
from chamfer.data.documents import ID, OTHER_ID, STANDARD, Columns, Document, document_from
from chamfer.data.reading import Reading
from chamfer.data.records import Records
from chamfer.errors import InputError


def documents_of(records: Records, reading: Reading, source: str) -> tuple[Columns, Iterator[tuple[str, Document]]]:
    """The columns of ids, texts and titles, and the documents, each with its origin for error messages.

    The first record is read at once if only it says which fields there are.

    Args:
        records: the records.
        reading: what the user says.
        source: the source, for messages.
    """
    if records.names is not None:
        columns = columns_of(records.names, reading, source)
        made = (
            (where, document_from(record, where, columns, row)) for row, (where, record) in enumerate(records.rows, 1)
        )
        return columns, made
    first = next(records.rows, None)
    if first is None:
        return STANDARD, iter(())
    columns = columns_of([*first[1]], reading, source, complete=False)
    whole = records._replace(rows=chain([first], records.rows))
    return columns, _of_objects(whole, columns, reading, source)


def _of_objects(records: Records, columns: Columns, reading: Reading, source: str) -> Iterator[tuple[str, Document]]:
    """Documents from records that may each have other fields."""
    seen: dict[str, None] = {}
    for row, (where, record) in enumerate(records.rows, 1):
        seen |= dict.fromkeys(record)
        if columns.numbered and reading.id_field is None and (ID in record or OTHER_ID in record):
            raise InputError(f"{where}: the record has an id, but the first has none; give each an id, or none")
        yield where, document_from(record, where, columns, row)
    check_seen(reading, seen, source)
