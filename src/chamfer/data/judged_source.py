"""A source of judgements that is read once, whether its queries turn out to be ids or texts."""

from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from chamfer.data.judged_columns import query_column
from chamfer.data.judged_rows import JudgedRows, identifier, names_of, rows_of_mapping, rows_of_records
from chamfer.data.records import Records
from chamfer.errors import InputError


class JudgedSource(NamedTuple):
    """What a source holds, once."""

    name: str
    """The source, for messages."""
    held: Mapping[Any, Any] | Records
    """Judged documents for each query, or the rows of a table."""

    def rows(self, *, by_id: bool) -> JudgedRows:
        """The judgements.

        Args:
            by_id: prefer ids of queries to their texts, where a table has both.
        """
        if isinstance(self.held, Mapping):
            return rows_of_mapping(self.held, self.name)
        return rows_of_records(self.held, self.name, by_id=by_id)


def decide(source: JudgedSource, known: Container[str]) -> tuple[JudgedSource, bool]:
    """Decide whether queries are known ids; returns the source, to be read from its beginning, and the decision.

    They are texts only if none of the texts is a known id, though an id is unknown, and some have several words.
    """
    if isinstance(source.held, Mapping):
        ids = texts = _queries((query, source.name) for query in source.held)
    else:
        rows = list(source.held.rows)
        names = names_of(rows) if source.held.names is None else source.held.names
        source = source._replace(held=source.held._replace(rows=iter(rows)))
        ids, texts = (
            _queries((record.get(column), where) for where, record in rows) if column is not None else set()
            for column in (query_column(names, source.name, by_id=by_id) for by_id in (True, False))
        )
    are_texts = any(len(text.split()) > 1 for text in texts) and not any(text in known for text in texts)
    return source, not are_texts or all(one in known for one in ids)


def _queries(found: Iterable[tuple[Any, str]]) -> set[str]:
    """Queries; an empty one stands for those that are an error once judgements are read."""
    queries = set()
    for value, where in found:
        try:
            queries.add(identifier(value, where).strip())
        except InputError:
            queries.add("")
    return queries
