"""Runs a server until it is told to stop."""

import asyncio
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chamfer.serve.guard import Application, Limits

# A client that has connected must begin a request within so many seconds.
FIRST_LINE_SECONDS = 10.0

STOPPING_SECONDS = 30


class Protocol(HttpToolsProtocol):
    """Closes a connection on which no request begins: uvicorn would keep it for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self.loop.call_later(FIRST_LINE_SECONDS, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """Tells when it listens, and where."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Listen."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._started(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def serve(app: Application, *, host: str, port: int, limits: Limits, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; what is being answered then is finished first.

    Args:
        app: from :func:`chamfer.serve.app.create_app`.
        host: an address of this machine.
        port: 0 for any that is free.
        limits: how many connections may be open.
        started: told the address once the server listens.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    Server(config, started).run()
