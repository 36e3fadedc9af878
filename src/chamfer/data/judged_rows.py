"""From the rows of a table, or from objects, to judgements: a query, a document and its grade."""

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from chamfer.data.cell_types import BOOLEANS
from chamfer.data.judged_columns import CLICK_ROWS, JudgedColumns, judged_columns
from chamfer.data.readers.qrels import WHOLE
from chamfer.data.reading import in_words
from chamfer.data.records import Records
from chamfer.errors import InputError

LARGEST_GRADE = 1_000_000
"""The library behind the measures crashes beyond 32 bits."""


class JudgedRow(NamedTuple):
    """One judgement."""

    where: str
    """Its origin, for error messages."""
    query: str
    document: str
    grade: int


class JudgedRows(NamedTuple):
    """Judgements, one by one."""

    rows: Iterator[JudgedRow]
    are_clicks: bool = False
    """Whether a document that is relevant in one row and not in another one is relevant."""


def rows_of_mapping(source: Mapping[Any, Any], name: str) -> JudgedRows:
    """Judgements from a mapping: grades by document, or relevant documents, for each query."""

    def rows() -> Iterator[JudgedRow]:
        for query, judged in source.items():
            where = f"{name}[{query!r}]" if name == "judgements" else f"{name}, {query!r}"
            if isinstance(judged, str) or not isinstance(judged, Iterable):
                raise InputError(
                    f"{where} must be a list of relevant ids, or grades by id, not {type(judged).__name__}"
                )
            for document, grade in _graded(judged, 1):
                yield JudgedRow(where, identifier(query, where), identifier(document, where), _grade(grade, where))

    return JudgedRows(rows())


def rows_of_records(records: Records, source: str, *, by_id: bool) -> JudgedRows:
    """Judgements or clicks from a table, or from objects.

    Args:
        records: the rows.
        source: the source, for messages.
        by_id: prefer ids of queries to their texts, where a table has both.
    """
    names, rows = records.names, records.rows
    if names is None:
        held = list(rows)
        names, rows = names_of(held), iter(held)
        if not held:
            return JudgedRows(iter(()))
    columns = judged_columns(names, source, by_id=by_id)
    if columns.document is None:
        return JudgedRows(_clicks(rows, columns, source), are_clicks=True)
    return JudgedRows(_judgements(rows, columns, columns.document), are_clicks=columns.clicked is not None)


def names_of(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """The fields of records that each have their own."""
    return list(dict.fromkeys(name for _, record in rows for name in record))


def _judgements(
    rows: Iterator[tuple[str, dict[str, Any]]], columns: JudgedColumns, document: str
) -> Iterator[JudgedRow]:
    for where, record in rows:
        query = _cell(record, columns.query, where, "query")
        judged = _cell(record, document, where, "document")
        default: Any = 1
        if columns.clicked is not None:
            default = _flag(_cell(record, columns.clicked, where, "click"), where, columns.clicked, document)
        elif columns.grade is not None and not isinstance(judged, Mapping):
            default = _cell(record, columns.grade, where, "grade")
        for one, given in _graded(judged, default):
            yield JudgedRow(where, identifier(query, where), identifier(one, where), _grade(given, where))


def _flag(value: Any, where: str, clicked: str, document: str) -> int:  # noqa: ANN401 -- a cell
    flag = _whole(value)
    if flag not in (0, 1):
        raise InputError(
            f"{where}: {clicked!r} must be 0 or 1 beside the document in {document!r}, not {value!r}; rename "
            f"{document!r} if it does not hold documents"
        )
    return flag


def _clicks(rows: Iterator[tuple[str, dict[str, Any]]], columns: JudgedColumns, source: str) -> Iterator[JudgedRow]:
    """A document that was clicked is relevant; one that was shown and not clicked is judged and not relevant."""
    names = [name for name in (columns.clicked, columns.shown) if name is not None]
    told: set[tuple[str, int | None]] = set()
    for where, record in rows:
        told |= {(name, _whole(record.get(name))) for name in names}
        query = identifier(_cell(record, columns.query, where, "query"), where)
        clicked = _documents(record, columns.clicked, where)
        shown = _documents(record, columns.shown, where)
        if not clicked and not shown:
            raise InputError(
                f"{where}: it says neither what was clicked nor what was shown; remove it, or give a list under "
                f"{columns.shown or 'shown'!r}"
            )
        for document in dict.fromkeys((*shown, *clicked)):
            yield JudgedRow(where, query, document, int(document in clicked))
    # All that was clicked may be a document called 1, but 0 and 1, or 1 and 1, are whether a document was.
    if len(told) > 1 and all(value in (0, 1) for _, value in told):
        raise InputError(
            f"{source} has only 0 and 1 under {in_words(names)}, but no column that names documents; {CLICK_ROWS}"
        )


def _documents(record: Mapping[str, Any], name: str | None, where: str) -> list[str]:
    """The documents of a cell: one id, or a list of them."""
    value = record.get(name or "")
    if value is None:
        return []
    if isinstance(value, bool):
        raise InputError(f"{where}: {name!r} is {value}, but there is no column that names documents; {CLICK_ROWS}")
    if isinstance(value, str) and value.strip().startswith("[") and value.strip().endswith("]"):
        raise InputError(
            f"{where}: {name!r} holds a list that is written as a text; write one row for each document, or JSON lines"
        )
    return [identifier(one, where) for one in (value if isinstance(value, list | tuple) else [value])]


def _graded(judged: Any, default: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 -- anything a user may pass
    """Documents with their grades, from grades by document, a list of documents, or one document."""
    if isinstance(judged, Mapping):
        yield from judged.items()
    elif isinstance(judged, str) or not isinstance(judged, Iterable):
        yield judged, default
    else:
        yield from ((document, default) for document in judged)


def _cell(record: Mapping[str, Any], name: str, where: str, what: str) -> Any:  # noqa: ANN401 -- a cell
    value = record.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{where}: the {what} is missing under {name!r}; fill it in, or remove the row")
    return value.strip() if isinstance(value, str) else value


def identifier(value: Any, where: str) -> str:  # noqa: ANN401 -- anything a user may pass
    """An id, or the text of a query; a whole number becomes a string, also 7.0, as tables write 7 beside a gap."""
    if isinstance(value, str) and value:
        return value
    if not isinstance(value, bool) and hasattr(value, "__index__"):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    raise InputError(f"{where}: an id must be a non-empty string, not {value!r}")


def _grade(value: Any, where: str) -> int:  # noqa: ANN401 -- anything a user may pass
    grade = _whole(value)
    if grade is None:
        raise InputError(f"{where}: a grade must be a whole number, not {value!r}")
    if abs(grade) > LARGEST_GRADE:
        raise InputError(f"{where}: a grade must be at most {LARGEST_GRADE:,}, not {reprlib.repr(value)}")
    return grade


def _whole(value: Any) -> int | None:  # noqa: ANN401 -- anything a user may pass
    """A whole number, or 1 and 0 for true and false; None for anything else."""
    try:
        if isinstance(value, str):
            whole = WHOLE.fullmatch(value)
            return int(BOOLEANS[value.strip()] if whole is None else whole[1])
        number = int(value)
    except (ValueError, TypeError, OverflowError, KeyError):
        return None
    return number if number == value else None
