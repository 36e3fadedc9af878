"""Queries from what a user has: dicts, DataFrames, or JSON lines."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from chamfer.data.documents import ID, METADATA, OTHER_ID, TEXT, TITLE, check_new, id_of, texts_of
from chamfer.data.frames import is_frame, rows_of
from chamfer.data.jsonlines import read_json_lines
from chamfer.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

QuerySource: TypeAlias = "str | Path | Mapping[str, str] | pd.DataFrame"
"""What :func:`queries_from` takes."""

# Fields of a query that are its id and its text.
OWN_FIELDS = frozenset({ID, OTHER_ID, "query_id", TITLE, TEXT, "query"})


class Queries(NamedTuple):
    """Texts of queries, and their other fields."""

    texts: Mapping[str, str]
    """Text of each query, by id."""
    fields: Mapping[str, Mapping[str, Any]]
    """Further fields of each query that has any, by id."""


def queries_from(source: QuerySource) -> Queries:
    """Read and check queries from any supported source.

    Args:
        source: a mapping from ids to texts; a DataFrame with columns ``id`` (or ``_id``, ``query_id``) and ``text`` (or
            ``query``); or a file of JSON lines with ``_id`` and ``text``.

    >>> queries_from({"q1": "do cats sleep"}).texts
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
        records = ((f"queries[{key!r}]", {ID: key, TEXT: text}) for key, text in source.items())
    else:
        raise InputError(
            f"queries must be a mapping from ids to texts, a DataFrame or a path, not {type(source).__name__}"
        )
    queries: dict[str, str] = {}
    fields: dict[str, dict[str, Any]] = {}
    for where, record in records:
        identifier = id_of(record, where)
        check_new(identifier, queries, where)
        text = " ".join(part for part in texts_of(record, identifier, where) if part)
        if not text:
            raise InputError(f"{where}: query {identifier!r} has no text; remove it or add the text")
        queries[identifier] = text
        others = {key: value for key, value in record.items() if key not in OWN_FIELDS}
        inner = others.pop(METADATA, None)
        if isinstance(inner, Mapping):
            others = {**inner, **others}
        if others:
            fields[identifier] = others
    if not queries:
        raise InputError(f"{name} holds no queries; each needs an id and a text")
    return Queries(queries, fields)


def words_of(text: str) -> str:
    """The words of a query in one spelling: two queries are the same if these are equal.

    >>> words_of("What is  BM25?") == words_of("what is bm25")
    True
    """
    return " ".join(re.findall(r"\w+", text.casefold())) or " ".join(text.split())


def is_own_document(query_id: str, text: str, document: str) -> bool:
    """Whether the document with a query's id is the query itself, as in ArguAna, and not another text of the same name.

    It is if its title or its text, the two ends of ``document``, is the query in the same words. A query whose text is
    its id has no id of its own.

    >>> is_own_document("2", "a dog barks", "At night. A dog barks."), is_own_document("2", "a dog barks", "Rice.")
    (True, False)
    """
    words, own = words_of(document), words_of(text)
    return query_id != text and (words == own or words.startswith(f"{own} ") or words.endswith(f" {own}"))


def _as_query(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the field names of JSON lines."""
    if ID not in row and OTHER_ID not in row and "query_id" in row:
        row = {**row, ID: row["query_id"]}
    return {**row, TEXT: row["query"]} if TEXT not in row and "query" in row else row
