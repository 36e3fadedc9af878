"""What judged queries have in common, so that those that are learnt from and those that are measured on share nothing.

A query that is asked twice, or two queries with one answer, make a weighting look better on "new" queries than it is.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from chamfer.data.judgements import Judgements
from chamfer.data.queries import words_of
from chamfer.errors import InputError
from chamfer.evaluate.significance import Groups

TEXT, DOCUMENT = "text", "document"
"""Group queries by their words, or by words and relevant documents; any other name is a field of the queries."""

# A group of more than this share of the queries leaves too little on the other side.
LARGEST = 0.5


class Ties(NamedTuple):
    """What a judged query may have in common with another one."""

    words: str = ""
    """Its words, in one spelling; empty if they are not known."""
    relevant: frozenset[str] = frozenset()
    """Ids of its relevant documents."""
    group: Hashable = None
    """A group that the user gave, such as a session or a debate."""

    @classmethod
    def of(cls, text: str, grades: Mapping[str, int], group: Hashable = None) -> "Ties":
        """Return the ties of a query with this text and these grades."""
        return cls(words_of(text), frozenset(document for document, grade in grades.items() if grade > 0), group)

    def keys(self, by: str | None = None) -> set[tuple[str, Hashable]]:
        """Return what queries of one group share, for a way to group them; None stands for everything."""
        found: set[tuple[str, Hashable]] = {(TEXT, self.words)} if self.words else set()
        if by in (None, DOCUMENT):
            found |= {(DOCUMENT, document) for document in self.relevant}
        if by not in (TEXT, DOCUMENT) and self.group is not None:
            found.add(("group", self.group))
        return found


def groups_of(fields: Mapping[str, Mapping[str, Any]], queries: Iterable[str], group_by: str) -> dict[str, Hashable]:
    """Return the group that a field gives each query; nothing for ``text`` and ``document``.

    Args:
        fields: further fields of queries, by query id.
        queries: ids of queries.
        group_by: ``text``, ``document`` or the name of a field.
    """
    if group_by in (TEXT, DOCUMENT):
        return {}
    found = {query: fields[query][group_by] for query in queries if group_by in fields.get(query, {})}
    if not found:
        known = ", ".join(sorted({name for own in fields.values() for name in own})) or "none"
        raise InputError(
            f"queries are grouped by {TEXT}, {DOCUMENT} or one of their fields, and no query has a field {group_by!r}; "
            f"they have: {known}"
        )
    return {query: str(value) for query, value in found.items()}


class Tied(Protocol):
    """Anything that has ties: a judged query."""

    @property
    def ties(self) -> Ties:
        """What it may have in common with others."""
        ...


class Grouping(NamedTuple):
    """Groups of queries that must not be separated."""

    labels: Groups
    by: str
    """What the queries are grouped by in the end."""
    why: str = ""
    """Why that is not what was asked for; empty if it is."""

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def sentence(self) -> str:
        """What the groups share, for a report."""
        shared = {TEXT: "no query text", DOCUMENT: "no query text and no relevant document"}
        why = self.why and f" ({self.why}, too many to keep on one side)"
        return f"share {shared.get(self.by, f'no query text and no {self.by}')}{why}"


def group(queries: Sequence[Tied], by: str = DOCUMENT, *, decided: bool = False) -> Grouping:
    """Group queries that share something, directly or through others.

    If one group would hold more than half of the queries, they are grouped by their words only.

    Args:
        queries: judged queries.
        by: ``document``, ``text``, or the name of the field that the ties hold the values of.
        decided: whether ``by`` was decided on more queries, of which these are some, and so stays as it is.
    """
    labels = _components([query.ties.keys(by) for query in queries])
    largest = int(np.bincount(labels).max(initial=0))
    if decided or by == TEXT or largest <= max(LARGEST * len(queries), 1):
        return Grouping(labels, by)
    shared = "relevant documents" if by == DOCUMENT else f"the field {by}"
    why = f"{shared} connect {largest} of {len(queries)} queries"
    return Grouping(group(queries, TEXT).labels, TEXT, why)


class _Known(NamedTuple):
    """A query of which nothing is known but its ties."""

    ties: Ties


def group_judged(texts: Mapping[str, str], judgements: Judgements) -> Grouping:
    """Group judged queries that have the same words, or a relevant document in common, into units of a paired test.

    If relevant documents connect more than half of the queries, these would all be one unit, and hardly any difference
    could be told from chance. They are grouped by their words only, and :attr:`Grouping.why` says so, because the test
    then takes queries as independent that share some of their answers.

    Args:
        texts: query texts by id.
        judgements: grades of documents for each of these queries.

    >>> texts = {"1": "cats", "2": "felines", "3": "dogs", "4": "birds"}
    >>> group_judged(texts, {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 1}, "4": {"c": 1}}).groups
    3
    """
    return group([_Known(Ties.of(text, judgements[query])) for query, text in texts.items()])


def are_apart(queries: Sequence[Tied], others: Sequence[Tied]) -> npt.NDArray[np.bool_]:
    """Return for each query whether it shares nothing with any of the others."""
    taken = set().union(*(other.ties.keys() for other in others))
    return np.array([taken.isdisjoint(query.ties.keys()) for query in queries], np.bool_)


def are_new(queries: Sequence[Tied], others: Sequence[Tied]) -> npt.NDArray[np.bool_]:
    """Return for each query whether none of the others has the same words."""
    taken = {other.ties.words for other in others} - {""}
    return np.array([query.ties.words not in taken for query in queries], np.bool_)


def _components(keys: Sequence[set[tuple[str, Hashable]]]) -> Groups:
    """Connected components of the graph in which queries are linked to their keys."""
    from scipy.sparse import coo_array  # imported here, because the command line needs only the names above
    from scipy.sparse.csgraph import connected_components

    number: dict[tuple[str, Hashable], int] = {}
    links = [(at, len(keys) + number.setdefault(key, len(number))) for at, own in enumerate(keys) for key in own]
    rows, columns = np.array(links, np.int64).reshape(-1, 2).T
    size = len(keys) + len(number)
    graph = coo_array((np.ones(len(links), np.int8), (rows, columns)), shape=(size, size))
    labels = connected_components(graph, directed=False)[1][: len(keys)]
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
