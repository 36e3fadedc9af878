"""What a client asks: a path, a body, and how the answer becomes a result of the library."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from chamfer.client import answers
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.explain.explanation import Explanation
from chamfer.index.field_counts import SERVED_VALUES, Fields, checked_count
from chamfer.search.hits import BATCH_HITS, BATCH_QUERIES, COMPARED, Hits, checked_score
from chamfer.support.strings import list_of_strings
from chamfer.weights.mix import Mix

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
    mix: Mix | None = None

    def as_json(self) -> dict[str, Any]:
        """The settings as the server takes them."""
        given = {name: value for name, value in self._asdict().items() if name not in ("weights", "mix")}
        return {**given, **_weighting(self.weights, self.mix)}


def search(query: str, settings: Searching) -> Question[Hits]:
    """Ask for the top documents."""
    return Question("/search", {"query": query, **settings.as_json()}, answers.hits)


def searches(queries: Sequence[str], settings: Searching) -> list[Question[list[Hits]]]:
    """Ask for the top documents of each query, in as few requests as a server allows."""
    if not isinstance(settings.k, int) or settings.k > BATCH_HITS:
        alone = [search(query, settings) for query in queries]
        return [Question(one.path, one.body, lambda answer: [answers.hits(answer)]) for one in alone]
    named = settings.as_json()
    slices = [queries[start : start + BATCH_QUERIES] for start in range(0, len(queries), BATCH_QUERIES)]
    return [
        Question("/search/batch", {"queries": some, **named}, partial(answers.hits_of_each, len(some)))
        for some in slices
    ]


def explain(query: str, ids: Sequence[str], weights: str | None, mix: Mix | None) -> Question[list[Explanation]]:
    """Ask for the explanations of documents."""
    body = {"query": query, "ids": list(ids), **_weighting(weights, mix)}
    return Question("/explain", body, partial(answers.explanations_of, ids))


def explain_best(query: str, weights: str | None, mix: Mix | None) -> Question[list[Explanation]]:
    """Ask for the explanations of the top documents; the server adds those that uniform weights prefer."""
    body = {"query": query, "k": COMPARED, **_weighting(weights, mix)}
    return Question("/explain", body, lambda answer: answers.explanations(answer)[:COMPARED])


def rerank(
    query: str,
    documents: Mapping[str, str] | Sequence[str],
    k: int | None,
    *,
    weights: str | None,
    mix: Mix | None,
    min_score: float,
) -> Question[Ranking]:
    """Ask for the ranking of texts, sent in the order in which ties are broken: the server does not know the ids."""
    if isinstance(documents, Mapping):
        ids, texts = sorted(documents), [documents[one] for one in sorted(documents)]
    else:
        texts = list_of_strings(documents, "documents")
        ids = [str(place) for place in range(len(texts))]
    body = {"query": query, "documents": texts, **_weighting(weights, mix)}
    return Question("/rerank", body, partial(answers.ranking, ids, k, checked_score(min_score)))


def fields(values: int) -> Question[Fields]:
    """Ask for the metadata fields."""
    return Question(f"/index?values={checked_count(values, SERVED_VALUES)}", None, answers.fields)


def example_queries() -> Question[list[str]]:
    """Ask for queries to try."""
    return Question("/index?values=0", None, answers.example_queries)


def _weighting(weights: object, mix: object) -> dict[str, Any]:
    """The weights and the mix as the server takes them."""
    if not isinstance(weights, str | None):
        raise InputError(
            f"a server takes weights by name, not {type(weights).__name__}; upload them with PUT /weights/file"
        )
    if not isinstance(mix, Mix | None):
        raise InputError(f"mix must be a chamfer.Mix, not {type(mix).__name__}")
    return {"weights": CURRENT if weights is None else weights, **({} if mix is None else {"mix": asdict(mix)})}
