"""Reading request bodies, within limits of size, time and total memory."""

import asyncio
from collections import Counter
from contextlib import suppress

from chamfer.serve.asgi import RETRY, Event, Receive, Refused, Scope
from chamfer.serve.limits import Limits
from chamfer.serve.turns import Turns

# Bytes of every body that are always taken, so that large bodies can never keep small requests out; also the largest
# body of a request that needs none, such as a GET, or that is refused without reading it.
SMALL = 64 << 10

# Seconds to wait for the rest of a small body before its request is refused. A client that is still sending when the
# connection closes may lose the answer.
DISCARDING_SECONDS = 1.0

FILE, DOCUMENTS = "/weights/file", "/documents"
EVALUATE, JUDGED_FILE = "/evaluate", "/evaluate/file"


def needs_body(scope: Scope) -> bool:
    """Whether a request has a body that says what to do."""
    return scope["method"] in ("POST", "PUT") or (scope["method"] == "DELETE" and scope["path"] == DOCUMENTS)


class Bodies:
    """The bodies of all requests, whose total is limited to what may wait.

    Args:
        limits: limits on requests.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # One file is worked on at a time, while the next one arrives.
        self.most_held = {True: 2 * limits.file_bytes, False: limits.waiting * limits.body_bytes}
        self.held: Counter[bool] = Counter()
        self.turns = Turns()

    def of(self, scope: Scope, receive: Receive) -> "Body":
        """The body of one request."""
        return Body(self, scope, receive)


class Body:
    """The body of a request.

    Attributes:
        ended: whether it has arrived completely; if not, the connection cannot be used again.
    """

    def __init__(self, bodies: Bodies, scope: Scope, receive: Receive) -> None:
        self._bodies, self._receive = bodies, receive
        self._is_file = scope["path"] == FILE
        limits = bodies.limits
        self._most = (limits.file_bytes if self._is_file else limits.body_bytes) if needs_body(scope) else SMALL
        self._held = 0
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        self._declared = int(length) if length.isdigit() and len(length) < 20 else 0
        self._is_expected = b"expect" in headers  # the client sends it only once it is asked to
        self._begun = self.ended = False

    def check(self) -> None:
        """Refuse a body whose declared size is too large."""
        if self._declared > self._most:
            raise self._too_large()

    async def read(self) -> bytes:
        """Read it whole."""
        self._begun, parts, size = True, list[bytes](), 0
        seconds = self._bodies.limits.reading_seconds
        try:
            async with asyncio.timeout(seconds):
                while not self.ended:
                    parts.append(await self._next())
                    size += len(parts[-1])
                    if size > self._most:
                        raise self._too_large()
                    self._hold(size - SMALL)
                    if size > SMALL:
                        await self._bodies.turns.wait()
        except TimeoutError:
            message = f"the request took longer than {seconds:g} seconds to arrive; send less at a time"
            raise Refused(408, message) from None
        return b"".join(parts)

    async def discard(self) -> None:
        """Wait a moment for the rest of a small body that was not read."""
        if self._begun or self._is_expected or self._declared > SMALL:
            return
        arrived = 0
        with suppress(TimeoutError, Refused):
            async with asyncio.timeout(DISCARDING_SECONDS):
                while not self.ended and arrived <= SMALL:
                    arrived += len(await self._next())

    def release(self) -> None:
        """Count it no longer."""
        self._hold(0)

    def _hold(self, size: int) -> None:
        held, size = self._bodies.held, max(size, 0)
        if held[self._is_file] + size - self._held > self._bodies.most_held[self._is_file]:
            raise Refused(429, "too many large requests are arriving; try again later", RETRY)
        held[self._is_file] += size - self._held
        self._held = size

    async def _next(self) -> bytes:
        event: Event = await self._receive()
        if event["type"] == "http.disconnect":
            raise Refused(400, "the connection closed before the request was complete")
        self.ended = not event.get("more_body", False)
        body: bytes = event.get("body", b"")
        return body

    def _too_large(self) -> Refused:
        limit = f"{self._most >> 20} MB" if self._most >= 1 << 20 else f"{self._most >> 10} KB"
        return Refused(413, f"the request is larger than the limit of {limit}; send less at a time")
