"""Judged queries: judgements together with the texts of their queries."""

import reprlib
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

from chamfer.data.judged_source import JudgedSource, decide
from chamfer.data.judgements import (
    Judgements,
    JudgementSource,
    grades_from,
    judged_source,
    judgements_from,
    name_of,
)
from chamfer.data.queries import Queries, QuerySource, queries_from
from chamfer.data.reading import note
from chamfer.errors import InputError, UnknownNameError


class Judged(NamedTuple):
    """Queries by id, and the grades of documents for each."""

    queries: Mapping[str, str]
    judgements: Judgements
    query_fields: Mapping[str, Mapping[str, Any]]
    """Further fields of the queries, by id."""


def read_judged(
    queries: "QuerySource | None", judgements: "JudgementSource | JudgedSource", known: Queries | None = None
) -> Judged:
    """Read judgements and their queries; without ``queries``, judgements hold the texts of queries.

    Args:
        queries: queries by id.
        judgements: grades of documents for each query.
        known: queries of a collection, which judgements may name by id; see
            :func:`chamfer.data.judged_source.decide`.
    """
    if queries is not None:
        given = queries_from(queries)
        return Judged(given.texts, _not_empty(judgements_from(judgements, given.texts), judgements), given.fields)
    source = judged_source(judgements)
    if known is not None and known.texts:
        source, are_ids = decide(source, known.texts)
        if are_ids:
            return Judged(known.texts, _not_empty(grades_from(source, known.texts), judgements), known.fields)
        judged = grades_from(source)
        note(f"{name_of(judgements)} holds texts of queries, so the queries of the collection are not used")
    else:
        judged = _not_empty(grades_from(source), judgements)
        if all(len(query.split()) == 1 and any(map(str.isdigit, query)) for query in judged):
            note(
                f"queries such as {next(iter(judged))!r} in {name_of(judgements)} look like ids, but are searched as "
                "texts, because no file of queries is given (--queries, queries in Python)"
            )
    return Judged(queries_from(dict(zip(judged, judged, strict=True))).texts, judged, {})


class UnknownDocuments(NamedTuple):
    """Judged documents that are not in a corpus."""

    ids: Sequence[str]
    """Their ids."""
    judged: int
    """Number of all judged documents."""

    def note(self, name: str) -> str:
        """A sentence about them.

        Args:
            name: name of the corpus.
        """
        rows = "; rows are counted from 1, without the header" if self.ids[0].isdigit() else ""
        return (
            f"{len(self.ids)} of {self.judged} judged documents are not in {name}, such as "
            f"{reprlib.repr(self.ids[0])}, so no search can find them{rows}"
        )


def unknown_documents(judgements: Judgements, known: Container[str]) -> UnknownDocuments:
    """Find judged documents that are not in a corpus.

    Args:
        judgements: grades of documents for each query.
        known: the ids of the corpus, at least those that are judged.
    """
    judged = dict.fromkeys(document for grades in judgements.values() for document in grades)
    return UnknownDocuments(tuple(document for document in judged if document not in known), len(judged))


def check_documents(judgements: Judgements, known: Container[str], example: str | None, name: str) -> None:
    """Refuse judgements if none of their documents is known, and say it if some are not.

    Args:
        judgements: grades of documents for each query.
        known: the known ids, at least among those that are judged.
        example: an id of a document.
        name: name of the corpus, for messages.
    """
    unknown = unknown_documents(judgements, known)
    if unknown.judged and len(unknown.ids) == unknown.judged:
        raise UnknownNameError(
            f"none of the {unknown.judged} judged documents is in {name}: judgements have ids such as "
            f"{reprlib.repr(unknown.ids[0])}, documents have ids such as {reprlib.repr(example)}; judge documents by "
            f"the ids that {name} has"
        )
    if unknown.ids:
        note(unknown.note(name))


def _not_empty(
    judged: dict[str, dict[str, int]], source: "JudgementSource | JudgedSource"
) -> dict[str, dict[str, int]]:
    if not judged:
        raise InputError(f"{name_of(source)} holds no judgements; each needs a query and a document")
    return judged
