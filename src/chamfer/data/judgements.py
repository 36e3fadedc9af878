"""Judgements from what a user has: dicts, DataFrames, or files in the formats of BEIR and TREC."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from chamfer.data.frames import is_frame, rows_of
from chamfer.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Judgements = Mapping[str, Mapping[str, int]]
"""Query id -> document id -> grade. Grade 0 means judged and not relevant."""

TRAIN, DEV, TEST = "train", "dev", "test"
"""Names of splits, by the convention of BEIR."""

JudgementSource: TypeAlias = "str | Path | Mapping[str, Mapping[str, int] | Iterable[str]] | pd.DataFrame"
"""What :func:`judgements_from` takes."""

# Column names of a DataFrame, most specific first.
QUERY_COLUMNS = ("query_id", "query-id", "query")
DOCUMENT_COLUMNS = ("document_id", "doc_id", "corpus_id", "corpus-id", "document")
GRADE_COLUMNS = ("relevance", "grade", "score")


def is_relevant(judgements: Judgements, query: str, document: str) -> bool:
    """Whether a document is judged relevant to a query."""
    return judgements.get(query, {}).get(document, 0) > 0


def judgements_from(source: JudgementSource, queries: Mapping[str, str] | None = None) -> dict[str, dict[str, int]]:
    """Read and check judgements from any supported source.

    Args:
        source: a mapping from query ids to grades by document id, or to lists of relevant ids; a DataFrame with columns
            ``query_id``, ``document_id`` and ``relevance`` (or ``query``, ``doc_id``, ``corpus_id``, ``document``,
            ``grade``, ``score``); or a qrels file, in BEIR's format with tabs or in TREC's with spaces.
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


Judged = Iterator[tuple[str, str, str, int]]
"""Origin for error messages, query id, document id, grade."""


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
                    "(or TREC's four columns, separated by spaces)"
                ) from error
            yield where, query, document, judged_as


def _column(frame: Any, names: tuple[str, ...]) -> str:  # noqa: ANN401 -- a DataFrame
    found = next((name for name in names if name in frame.columns), None)
    if found is None:
        columns = ", ".join(map(str, frame.columns))
        raise InputError(f"a DataFrame of judgements needs a column {' or '.join(names)}; it has: {columns}")
    return found


def _identifier(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        hint = f"; write it as a string, {str(value)!r}" if isinstance(value, int) else ""
        raise InputError(f"{where}: an id must be a non-empty string, not {value!r}{hint}")
    return value


def _grade(value: Any, where: str) -> int:  # noqa: ANN401 -- anything a user may pass
    try:
        grade = int(value)
        if grade != value:
            raise ValueError
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{where}: a grade must be a whole number, not {value!r}") from error
    return grade
