"""What a client asks: a path, a body, and how the answer becomes a result of the library."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from chamfer.client import answers
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.explain.explanation import Explanation
from chamfer.index.field_counts import SERVED_VALUES, Fields, checked_count
from chamfer.search.hits import BATCH_HITS, BATCH_QUERIES, COMPARED, Hits

Result = TypeVar("Result")
Json = Mapping[str, Any]

# The server's name for the weights that it uses.
CURRENT = "current"


@dataclass(frozen=True)
class Question(Generic[Result]):
    """A request, and what its answer means. All of these only read, so each may be sent again.

    Args:
        path: path of the endpoint.
        body: JSON to send; None if the path says it all.
        read: turns the JSON of the answer into the result.
    """

    path: str
    body: Json | None
    read: Callable[[Json], Result]

    @property
    def method(self) -> str:
        """The method of the request."""
        return "GET" if self.body is None else "POST"


class Searching(NamedTuple):
    """The settings of a search."""

    k: int
    offset: int
    weights: str | None
    where: str | None
    min_score: float


def search(query: str, settings: Searching) -> Question[Hits]:
    """Ask for the top documents."""
    body = {"query": query, **settings._asdict(), "weights": _named(settings.weights)}
    return Question("/search", body, answers.hits)


def searches(queries: Sequence[str], settings: Searching) -> list[Question[list[Hits]]]:
    """Ask for the top documents of each query, in as few requests as a server allows."""
    if not isinstance(settings.k, int) or settings.k > BATCH_HITS:
        alone = [search(query, settings) for query in queries]
        return [Question(one.path, one.body, lambda answer: [answers.hits(answer)]) for one in alone]
    named = {**settings._asdict(), "weights": _named(settings.weights)}
    slices = [queries[start : start + BATCH_QUERIES] for start in range(0, len(queries), BATCH_QUERIES)]
    return [
        Question("/search/batch", {"queries": some, **named}, partial(answers.hits_of_each, len(some)))
        for some in slices
    ]


def explain(query: str, ids: Sequence[str], weights: str | None) -> Question[list[Explanation]]:
    """Ask for the explanations of documents."""
    body = {"query": query, "ids": list(ids), "weights": _named(weights)}
    return Question("/explain", body, partial(answers.explanations_of, ids))


def explain_best(query: str, weights: str | None) -> Question[list[Explanation]]:
    """Ask for the explanations of the top documents; the server adds those that uniform weights prefer."""
    body = {"query": query, "k": COMPARED, "weights": _named(weights)}
    return Question("/explain", body, lambda answer: answers.explanations(answer)[:COMPARED])


def rerank(
    query: str,
    documents: Mapping[str, str] | Sequence[str],
    k: int | None,
    *,
    weights: str | None,
    min_score: float,
) -> Question[Ranking]:
    """Ask for the scores of texts. Ties are broken here: the server does not know the ids."""
    texts = [*documents.values()] if isinstance(documents, Mapping) else documents
    body = {"query": query, "documents": texts, "weights": _named(weights)}
    return Question("/rerank", body, partial(answers.ranking, documents, k, min_score))


def fields(values: int) -> Question[Fields]:
    """Ask for the metadata fields."""
    return Question(f"/index?values={checked_count(values, SERVED_VALUES)}", None, answers.fields)


def example_queries() -> Question[list[str]]:
    """Ask for queries to try."""
    return Question("/index?values=0", None, answers.example_queries)


def _named(weights: object) -> str:
    if weights is None:
        return CURRENT
    if not isinstance(weights, str):
        raise InputError(
            f"a server takes weights by name, not {type(weights).__name__}; upload them with PUT /weights/file"
        )
    return weights
