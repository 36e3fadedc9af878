"""Receiving an answer within a time and a size. httpx limits only the time of each read, and no size."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING

from chamfer.errors import ServerError

if TYPE_CHECKING:
    import httpx

    from chamfer.client.outcomes import Outcome

# Largest answer: a thousand documents of a quarter of a megabyte each.
MOST_BYTES = 256 << 20
# Seconds that a request may take longer than httpx was told, so that its own error says what was waited for.
GRACE = 0.1
# Headers of an answer that matter here. The others describe how its body was sent.
HEADERS = ("location", "retry-after")


class Arriving:
    """An answer whose body is arriving.

    Args:
        response: its head.
        seconds: time until the call must be over.
    """

    def __init__(self, response: "httpx.Response", seconds: float) -> None:
        self._response, self._until = response, time.monotonic() + seconds
        self._parts, self._size = list[bytes](), 0

    def add(self, part: bytes) -> None:
        """Take a part of the body."""
        import httpx

        self._parts.append(part)
        self._size += len(part)
        if self._size > MOST_BYTES:
            raise ServerError(f"the answer is larger than {MOST_BYTES >> 20} MB; ask for fewer documents at a time")
        if time.monotonic() > self._until:
            raise httpx.ReadTimeout("")

    def whole(self) -> "httpx.Response":
        """The answer with its body."""
        import httpx

        headers = {name: value for name in HEADERS if (value := self._response.headers.get(name)) is not None}
        return httpx.Response(self._response.status_code, headers=headers, content=b"".join(self._parts))


def within(seconds: float, receive: "Callable[[], Outcome]") -> "Outcome":
    """What becomes of a request, or a timeout once its time is up.

    The request has a thread of its own, because nothing else ends one whose answer arrives byte by byte. If it is given
    up, that thread ends with its connection.

    Args:
        seconds: time for the request.
        receive: sends it, and receives the answer.
    """
    import httpx

    outcome: Future[Outcome] = Future()

    def run() -> None:
        try:
            outcome.set_result(receive())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=run, name="client-request", daemon=True).start()
    try:
        return outcome.result(seconds + GRACE)
    except TimeoutError:
        return httpx.ReadTimeout("")
