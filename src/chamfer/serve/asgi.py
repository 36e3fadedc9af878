"""The types of ASGI, and a request that is answered without reaching the application."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

RETRY = ((b"retry-after", b"1"),)


class Refused(Exception):  # noqa: N818 -- a response, not a failure
    """A request that is answered without reaching the application."""

    def __init__(self, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers
