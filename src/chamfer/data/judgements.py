"""Judgements and queries as people have them: dicts, DataFrames, and files in the formats of BEIR and TREC."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from chamfer.data.documents import check_new, id_of, texts_of
from chamfer.data.frames import is_frame, rows_of
from chamfer.data.jsonlines import read_json_lines
from chamfer.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Judgements = Mapping[str, Mapping[str, int]]
"""Query id -> document id -> grade. Grade 0 means judged and not relevant."""

JudgementSource: TypeAlias = "str | Path | Mapping[str, Mapping[str, int] | Iterable[str]] | pd.DataFrame"
"""What :func:`judgements_from` takes."""

QuerySource: TypeAlias = "str | Path | Mapping[str, str] | pd.DataFrame"
"""What :func:`queries_from` takes."""

# Names of columns of a DataFrame, most specific first.
QUERY_COLUMNS = ("query_id", "query-id", "query")
DOCUMENT_COLUMNS = ("document_id", "doc_id", "corpus_id", "corpus-id", "document")
GRADE_COLUMNS = ("relevance", "grade", "score")


def judgements_from(source: JudgementSource, queries: Mapping[str, str] | None = None) -> dict[str, dict[str, int]]:
    """Read and check everything that can be given as judgements.

    Args:
        source: a mapping from query ids to grades by document id, or to lists of relevant ids; a DataFrame with columns
            ``query_id``, ``document_id`` and ``relevance`` (or ``query``, ``doc_id``, ``corpus_id``, ``document``,
            ``grade``, ``score``); or a file, BEIR's with tabs or TREC's with blanks.
        queries: queries by id; a judgement of any other query is an error.

    >>> judgements_from({"q1": ["a", "b"], "q2": {"c": 2, "d": 0}})
    {'q1': {'a': 1, 'b': 1}, 'q2': {'c': 2, 'd': 0}}
    """
    if isinstance(source, str | Path):
        judged = _read_file(Path(source))
    elif is_frame(source):
        judged = _read_frame(source)
    elif isinstance(source, Mapping):
        judged = _read_mapping(source)
    else:
        raise InputError(
            "judgements must be a mapping from query ids to relevant documents, a DataFrame or a path, "
            f"not {type(source).__name__}"
        )
    found: dict[str, dict[str, int]] = {}
    for where, query, document, grade in judged:
        if queries is not None and query not in queries:
            raise InputError(f"{where}: query {query!r} is not among the queries")
        if found.setdefault(query, {}).setdefault(document, grade) != grade:
            raise InputError(f"{where}: document {document!r} already has another grade for query {query!r}")
    return found


def own_document(query_id: str, text: str) -> str | None:
    """Return the id of the document that a query is itself, as in ArguAna: the one with the query's id.

    None for a query that is known by its text alone: a document with that id has nothing to do with it.

    >>> own_document("d2", "a dog barks"), own_document("rice", "rice")
    ('d2', None)
    """
    return None if query_id == text else query_id


def queries_from(source: QuerySource) -> dict[str, str]:
    """Read and check everything that can be given as queries.

    Args:
        source: a mapping from ids to texts; a DataFrame with columns ``id`` (or ``_id``, ``query_id``) and ``text`` (or
            ``query``); or a file of JSON lines with ``_id`` and ``text``.

    >>> queries_from({"q1": "do cats sleep"})
    {'q1': 'do cats sleep'}
    """
    name = "the mapping"
    if isinstance(source, str | Path):
        name = str(source)
        records = ((f"{source}, line {number}", record) for number, record in read_json_lines(Path(source)))
    elif is_frame(source):
        name = "the DataFrame"
        records = ((where, _as_query(row)) for where, row in rows_of(source))
    elif isinstance(source, Mapping):
        records = ((f"queries[{key!r}]", {"_id": key, "text": text}) for key, text in source.items())
    else:
        raise InputError(
            f"queries must be a mapping from ids to texts, a DataFrame or a path, not {type(source).__name__}"
        )
    queries: dict[str, str] = {}
    for where, record in records:
        identifier = id_of(record, where)
        check_new(identifier, queries, where)
        text = " ".join(part for part in texts_of(record, identifier, where) if part)
        if not text:
            raise InputError(f"{where}: query {identifier!r} has no text; remove it or add the text")
        queries[identifier] = text
    if not queries:
        raise InputError(f"{name} holds no queries; each needs an id and a text")
    return queries


Judged = Iterator[tuple[str, str, str, int]]
"""Place for error messages, query id, document id, grade."""


def _read_mapping(source: Mapping[Any, Any]) -> Judged:
    for query, judged in source.items():
        where = f"judgements[{query!r}]"
        if isinstance(judged, str) or not isinstance(judged, Iterable):
            raise InputError(f"{where} must be a list of relevant ids, or grades by id, not {type(judged).__name__}")
        grades = judged.items() if isinstance(judged, Mapping) else ((document, 1) for document in judged)
        for document, grade in grades:
            yield where, _identifier(query, where), _identifier(document, where), _grade(grade, where)


def _read_frame(frame: Any) -> Judged:  # noqa: ANN401 -- a DataFrame
    query, document = _column(frame, QUERY_COLUMNS), _column(frame, DOCUMENT_COLUMNS)
    grade = next((name for name in GRADE_COLUMNS if name in frame.columns), None)
    for where, row in rows_of(frame):
        given = 1 if grade is None else row.get(grade)
        yield where, _identifier(row.get(query), where), _identifier(row.get(document), where), _grade(given, where)


def _read_file(path: Path) -> Judged:
    if not path.is_file():
        raise InputError(f"there is no file {path} with judgements")
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                fields = line.decode().rstrip("\r\n").split("\t")
                if number == 1 and fields[-1] == "score":
                    continue
                if len(fields) == 1:
                    query, _, document, grade = fields[0].split()
                else:
                    query, document, grade = fields
                judged_as = int(grade)
            except ValueError as error:
                raise InputError(
                    f"{where}: expected query-id, corpus-id and a whole number, separated by tabs "
                    "(or TREC's four columns, separated by blanks)"
                ) from error
            yield where, query, document, judged_as


def _column(frame: Any, names: tuple[str, ...]) -> str:  # noqa: ANN401 -- a DataFrame
    found = next((name for name in names if name in frame.columns), None)
    if found is None:
        columns = ", ".join(map(str, frame.columns))
        raise InputError(f"a DataFrame of judgements needs a column {' or '.join(names)}; it has: {columns}")
    return found


def _as_query(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the names of JSON lines."""
    if "_id" not in row and "id" not in row and "query_id" in row:
        row = {**row, "_id": row["query_id"]}
    return {**row, "text": row["query"]} if "text" not in row and "query" in row else row


def _identifier(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        hint = f"; write it as a string, {str(value)!r}" if isinstance(value, int) else ""
        raise InputError(f"{where}: an id must be a non-empty string, not {value!r}{hint}")
    return value


def _grade(value: Any, where: str) -> int:  # noqa: ANN401 -- whatever a user has given
    try:
        grade = int(value)
        if grade != value:
            raise ValueError
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{where}: a grade must be a whole number, not {value!r}") from error
    return grade
