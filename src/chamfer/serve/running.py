"""Runs a server until it is told to stop."""

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chamfer.errors import InputError
from chamfer.serve.guard import Application, Limits

# A client that has connected must send the head of a request within so many seconds, and that of every other one too.
HEAD_SECONDS = 10.0

STOPPING_SECONDS = 30


class Protocol(HttpToolsProtocol):
    """Closes a connection on which the head of a request does not end: uvicorn would keep it for ever."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait for the end of the head."""
        self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The request is there; how long its body may take is the guard's business."""
        self._stop_waiting()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Server(uvicorn.Server):
    """Tells when it listens, and where."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._started(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def listen(host: str, port: int) -> socket.socket:
    """Take an address, before a model is loaded for nothing.

    Args:
        host: an address of this machine.
        port: 0 for any that is free.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)[0]
        # Only where the protocol is named does asyncio switch off Nagle's algorithm, which costs every answer 40 ms.
        at = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"{host} is no address of this machine; give another --host") from error
    try:
        at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        at.bind(address)
        at.listen(2048)
        return at
    except OSError as error:
        at.close()
        reason = error.strerror or str(error)
        raise InputError(f"cannot listen at {host}, port {port} ({reason}); give another --host or --port") from error


def serve(app: Application, *, at: socket.socket, limits: Limits, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; what is being answered then is finished first.

    Args:
        app: from :func:`chamfer.serve.app.create_app`.
        at: from :func:`listen`.
        limits: how many connections may be open.
        started: told the address once the server listens.
    """
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    Server(config, started).run(sockets=[at])
