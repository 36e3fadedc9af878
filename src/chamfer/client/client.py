"""`Client`: search, explain and rerank as a `Searcher` does, on a server's index."""

import time
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from chamfer.client import questions
from chamfer.client.connection import SECONDS, Connection, body_of, needed_httpx
from chamfer.client.outcomes import Turns
from chamfer.client.questions import Question, Searching
from chamfer.client.receiving import Arriving, within
from chamfer.data.ranking import Ranking
from chamfer.errors import InputWarning
from chamfer.explain.explanation import Explanation
from chamfer.index.field_counts import LISTED_VALUES, Fields
from chamfer.search.hits import DEFAULT_K, Hits
from chamfer.weights.mix import Mix

if TYPE_CHECKING:
    import httpx

    from chamfer.client.outcomes import Outcome

Result = TypeVar("Result")


class Client:
    """Asks a running ``chamfer serve``; searches, explains and ranks texts as :class:`chamfer.Searcher` does.

    What the HTTP interface does not offer is missing: ``unrelated_score``, ``refreshed``, and in ``search`` the
    arguments ``among``, ``first_stage`` and ``depth``. Weights are named. ``mix`` replaces their mix, where a searcher
    takes ``weights.with_mix(...)``.

    Connections are kept and used again; close the client, or use it in a ``with`` block. Several threads may share one.
    What the server refuses is an ``InputError`` with the server's sentence; a server that cannot be reached, that fails
    or that takes too long is a ``ServerError``. A busy server is asked again when it says, within ``timeout``.

    Args:
        url: address of the server, such as ``http://localhost:8000``.
        key: API key, if the server requires one.
        timeout: seconds that a call may take.
        transport: how requests are sent, such as ``httpx.HTTPTransport(uds="...")``; over the network if not given.

    >>> from chamfer import Client
    >>> with Client("http://localhost:8000") as client:
    ...     client
    Client('http://localhost:8000')
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = SECONDS,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        self._connection = Connection(url, key, timeout)
        self._http: httpx.Client = needed_httpx().Client(**self._connection.settings(), transport=transport)

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    @overload
    def search(
        self,
        query: str,
        k: int = DEFAULT_K,
        *,
        offset: int = 0,
        weights: str | None = None,
        where: str | None = None,
        mix: Mix | None = None,
        min_score: float = 0.0,
    ) -> Hits: ...

    @overload
    def search(
        self,
        query: list[str],
        k: int = DEFAULT_K,
        *,
        offset: int = 0,
        weights: str | None = None,
        where: str | None = None,
        mix: Mix | None = None,
        min_score: float = 0.0,
    ) -> list[Hits]: ...

    def search(
        self,
        query: str | list[str],
        k: int = DEFAULT_K,
        *,
        offset: int = 0,
        weights: str | None = None,
        where: str | None = None,
        mix: Mix | None = None,
        min_score: float = 0.0,
    ) -> Hits | list[Hits]:
        """Find the top ``k`` documents for one query, or for each of several.

        The first stage and its depth are the server's.

        Args:
            query: query text, or a list of query texts, which are sent 32 at a time if ``k`` is at most 100; each such
                batch is answered from one commit of the index.
            k: number of documents to return.
            offset: number of better documents to skip: with ``k=10``, ``offset=10`` is the second page.
            weights: name of weights to use instead of those that the server uses, such as ``uniform``.
            where: filter on metadata, as in ``year > 2020 and lang = 'en'``.
            mix: how much evidence counts, instead of the mix of the weights.
            min_score: leave out documents that score less.

        Returns:
            :class:`chamfer.Hits`, best first; a list of them for a list of queries. An ``InputWarning`` repeats what
            the server notes about the request.
        """
        settings = Searching(k, offset, weights, where, min_score, mix)
        if isinstance(query, str):
            return self._ask(questions.search(query, settings))
        found = list[Hits]()
        for question in questions.searches(query, settings):
            some = self._ask(question)
            found += some
        return found

    @overload
    def explain(
        self, query: str, document: str, *, weights: str | None = None, mix: Mix | None = None
    ) -> Explanation: ...

    @overload
    def explain(
        self,
        query: str,
        document: list[str] | None = None,
        *,
        weights: str | None = None,
        mix: Mix | None = None,
    ) -> list[Explanation]: ...

    def explain(
        self,
        query: str,
        document: str | list[str] | None = None,
        *,
        weights: str | None = None,
        mix: Mix | None = None,
    ) -> Explanation | list[Explanation]:
        """Explain the score of a document: what each query token matched, and what that contributed.

        Args:
            query: query text.
            document: id of a document that has tokens, or a list of ids; by default the top two documents.
            weights: name of weights to use instead of those that the server uses.
            mix: how much evidence counts, instead of the mix of the weights.

        Returns:
            An :class:`chamfer.Explanation`; a list of them for a list of ids.
        """
        if document is None:
            return self._ask(questions.explain_best(query, weights, mix))
        if isinstance(document, str):
            [explanation] = self._ask(questions.explain(query, [document], weights, mix))
            return explanation
        if not document:
            return []
        return self._ask(questions.explain(query, document, weights, mix))

    def rerank(
        self,
        query: str,
        documents: Mapping[str, str] | Sequence[str],
        k: int | None = None,
        *,
        weights: str | None = None,
        mix: Mix | None = None,
        min_score: float = 0.0,
    ) -> Ranking:
        """Rank texts for a query as if they were documents of the server's index.

        Args:
            query: query text.
            documents: texts by id, or a list of texts, which get their positions ``"0"``, ``"1"``, ... as ids.
            k: number of texts to return; all if not given.
            weights: name of weights to use instead of those that the server uses.
            mix: how much evidence counts, instead of the mix of the weights.
            min_score: leave out texts that score less.

        Returns:
            A :class:`chamfer.Ranking`, best first.
        """
        question = questions.rerank(query, documents, k, weights=weights, mix=mix, min_score=min_score)
        return self._ask(question) if documents else Ranking("query", (), ())

    def fields(self, values: int = LISTED_VALUES) -> Fields:
        """The metadata fields of the server's index with counts; see :meth:`chamfer.Index.fields`.

        Args:
            values: number of values of each field, up to 100.

        Returns:
            A list of fields, the most frequent one first.
        """
        return self._ask(questions.fields(values))

    def example_queries(self) -> list[str]:
        """A few queries to try on the server's index; see :meth:`chamfer.Index.example_queries`."""
        return self._ask(questions.example_queries())

    def _ask(self, question: Question[Result]) -> Result:
        turns, body = Turns(self._connection.seconds), body_of(question)
        while True:
            outcome = self._send(question, body, turns.seconds)
            pause = turns.pause_after(outcome)
            if pause is None:
                break
            time.sleep(pause)
        result, notes = self._connection.read(question, outcome)
        for note in notes:
            warnings.warn(note, InputWarning, stacklevel=3)
        return result

    def _send(self, question: Question[Any], body: bytes | None, seconds: float) -> "Outcome":
        import httpx

        def receive() -> "Outcome":
            try:
                with self._http.stream(question.method, question.path, content=body, timeout=seconds) as response:
                    arriving = Arriving(response, seconds)
                    for part in response.iter_bytes():
                        arriving.add(part)
                    return arriving.whole()
            except httpx.RequestError as error:
                return error

        return within(seconds, receive)
