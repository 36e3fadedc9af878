"""Connections: how many there may be, how long they may wait, and how much may arrive before it is a request."""

import asyncio
import ipaddress
import json
from collections import Counter
from http import HTTPStatus
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from chamfer.serve.guard import HEADERS
from chamfer.serve.limits import Limits

# More header lines than any client sends; as many tiny ones as fit into a head would take 2 MB.
MOST_HEADERS = 100


class Connection(HttpToolsProtocol):
    """A connection that no client can hold forever, with one request at a time.

    uvicorn waits forever for the end of a head, and for a client that does not read its answer; it stores heads of
    any size, and as many pipelined requests as arrive. Here one timer runs whenever the application does not, and
    whatever arrives before an answer is complete ends the connection after that answer, as HTTP allows.

    Args:
        config: of uvicorn, like the next three.
        server_state: state of the server.
        app_state: state of the application.
        _loop: event loop.
        limits: limits on requests and connections.
        held: number of connections from each address, shared by all connections of a server.
    """

    url = b""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: Limits,
        held: Counter[str],
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits, self._held = limits, held
        self._address = ""
        self._timer: asyncio.TimerHandle | None = None
        self._unfinished = 0  # bytes since the last head, or the last byte of a body, was complete
        self._in_head = False
        self._ignoring = False
        self._refusal: tuple[int, str] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, unless there are too many connections."""
        super().connection_made(transport)
        self._address = network(self.client[0] if self.client else "")
        self._held[self._address] += 1
        self._give_up_after(self._limits.head_seconds)
        if self._held[self._address] > self._limits.connections_per_address:
            self._refuse(503, "too many connections from this address; close some, or try again later")
        elif len(self.connections) > self._limits.connections:
            self._refuse(503, "too many connections are open; try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        self._held[self._address] -= 1
        if not self._held[self._address]:
            del self._held[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, in pieces that cannot exceed the limit on a head unnoticed."""
        rest = memoryview(data)
        while rest and not self._ignoring and not self.transport.is_closing():
            room = self._limits.head_bytes - self._unfinished
            piece, rest = rest[:room], rest[room:]
            self._unfinished += len(piece)
            super().data_received(bytes(piece))
            if self._unfinished >= self._limits.head_bytes and not self.transport.is_closing():
                self._refuse_head()

    def on_message_begin(self) -> None:
        """Wait for the end of the headers; a request that begins before the last answer is complete is ignored."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._ignoring, self.cycle.keep_alive = True, False
            self.flow.pause_reading()
            raise RuntimeError("stop parsing")  # the parser cannot be told otherwise
        self._in_head = True
        self._give_up_after(self._limits.head_seconds)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header, but no trailer of a body: it would come after the checks."""
        if not self._in_head:
            return
        if len(self.headers) == MOST_HEADERS:
            self._refusal = 431, f"the request has more than {MOST_HEADERS} headers; send fewer"
            raise RuntimeError("stop parsing")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop waiting: the guard limits the time for the body and the answer."""
        self._unfinished, self._in_head = 0, False
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._unfinished = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._unfinished = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the client to read its answer; close if it is still sending."""
        if self.cycle.more_body:
            self.transport.close()
        super().on_response_complete()
        writing = self.flow.write_paused
        self._give_up_after(self._limits.writing_seconds if writing else self._limits.head_seconds)

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._give_up_after(self._limits.writing_seconds)

    def resume_writing(self) -> None:
        """Go on with the answer, or wait for the next request."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
        else:
            self._give_up_after(self._limits.head_seconds)

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser, or a method above, does not accept."""
        if not self._ignoring:
            self._refuse(*self._refusal or (400, "this is not a valid HTTP request"))

    def _refuse_head(self) -> None:
        kilobytes = f"{self._limits.head_bytes / 1024:g} KB"
        if 2 * len(self.url) > self._limits.head_bytes:
            self._refuse(414, f"the URL is longer than the limit of {kilobytes}; shorten it")
        else:
            self._refuse(431, f"the headers are larger than the limit of {kilobytes}; send fewer")

    def _refuse(self, status: int, message: str) -> None:
        """Answer in place of the application, and close."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = json.dumps({"message": message}).encode()
            lines = [
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(),
                b"content-type: application/json",
                b"content-length: %d" % len(body),
                b"connection: close",
                *(name + b": " + value for name, value in HEADERS),
                *([b"retry-after: 1"] if status == 503 else []),
            ]
            self.transport.write(b"\r\n".join([*lines, b"", body]))
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
        self._give_up_after(self._limits.head_seconds)

    def _give_up_after(self, seconds: float) -> None:
        self._stop_timer()
        # Not close(), which waits until the client has read everything.
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def network(address: str) -> str:
    """What one client can choose its addresses from: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a Unix socket has none
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or parsed.packed[:8].hex())
