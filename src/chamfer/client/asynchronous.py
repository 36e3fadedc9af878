"""`AsyncClient`: the methods of `Client` as coroutines."""

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from chamfer.client import questions
from chamfer.client.connection import SECONDS, Connection, body_of, needed_httpx
from chamfer.client.outcomes import Turns
from chamfer.client.questions import Question, Searching
from chamfer.client.receiving import GRACE, Arriving
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


class AsyncClient:
    """A :class:`chamfer.Client` for asyncio: its methods are coroutines, with the same arguments, results and errors.

    Args:
        url: address of the server, such as ``http://localhost:8000``.
        key: API key, if the server requires one.
        timeout: seconds that a call may take.
        transport: how requests are sent, such as ``httpx.ASGITransport(app)``; over the network if not given.

    >>> import asyncio
    >>> from chamfer import AsyncClient
    >>> async def main():
    ...     async with AsyncClient("http://localhost:8000") as client:
    ...         return repr(client)
    >>> asyncio.run(main())
    "AsyncClient('http://localhost:8000')"
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = SECONDS,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        self._connection = Connection(url, key, timeout)
        self._http: httpx.AsyncClient = needed_httpx().AsyncClient(**self._connection.settings(), transport=transport)

    def __repr__(self) -> str:
        return f"AsyncClient({self._connection.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    @overload
    async def search(
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
    async def search(
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

    async def search(
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
        """See :meth:`chamfer.Client.search`."""
        settings = Searching(k, offset, weights, where, min_score, mix)
        if isinstance(query, str):
            return await self._ask(questions.search(query, settings))
        found = list[Hits]()
        for question in questions.searches(query, settings):
            some = await self._ask(question)
            found += some
        return found

    @overload
    async def explain(
        self, query: str, document: str, *, weights: str | None = None, mix: Mix | None = None
    ) -> Explanation: ...

    @overload
    async def explain(
        self,
        query: str,
        document: list[str] | None = None,
        *,
        weights: str | None = None,
        mix: Mix | None = None,
    ) -> list[Explanation]: ...

    async def explain(
        self,
        query: str,
        document: str | list[str] | None = None,
        *,
        weights: str | None = None,
        mix: Mix | None = None,
    ) -> Explanation | list[Explanation]:
        """See :meth:`chamfer.Client.explain`."""
        if document is None:
            return await self._ask(questions.explain_best(query, weights, mix))
        if isinstance(document, str):
            [explanation] = await self._ask(questions.explain(query, [document], weights, mix))
            return explanation
        if not document:
            return []
        return await self._ask(questions.explain(query, document, weights, mix))

    async def rerank(
        self,
        query: str,
        documents: Mapping[str, str] | Sequence[str],
        k: int | None = None,
        *,
        weights: str | None = None,
        mix: Mix | None = None,
        min_score: float = 0.0,
    ) -> Ranking:
        """See :meth:`chamfer.Client.rerank`."""
        question = questions.rerank(query, documents, k, weights=weights, mix=mix, min_score=min_score)
        return await self._ask(question) if documents else Ranking("query", (), ())

    async def fields(self, values: int = LISTED_VALUES) -> Fields:
        """See :meth:`chamfer.Client.fields`."""
        return await self._ask(questions.fields(values))

    async def example_queries(self) -> list[str]:
        """See :meth:`chamfer.Client.example_queries`."""
        return await self._ask(questions.example_queries())

    async def _ask(self, question: Question[Result]) -> Result:
        turns, body = Turns(self._connection.seconds), body_of(question)
        while True:
            outcome = await self._send(question, body, turns.seconds)
            pause = turns.pause_after(outcome)
            if pause is None:
                break
            await asyncio.sleep(pause)
        result, notes = self._connection.read(question, outcome)
        for note in notes:
            warnings.warn(note, InputWarning, stacklevel=3)
        return result

    async def _send(self, question: Question[Any], body: bytes | None, seconds: float) -> "Outcome":
        import httpx

        try:
            async with (
                asyncio.timeout(seconds + GRACE),
                self._http.stream(question.method, question.path, content=body, timeout=seconds) as response,
            ):
                arriving = Arriving(response, seconds)
                async for part in response.aiter_bytes():
                    arriving.add(part)
                return arriving.whole()
        except TimeoutError:
            return httpx.ReadTimeout("")
        except httpx.RequestError as error:
            return error
