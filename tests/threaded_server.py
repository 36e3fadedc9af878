"""A server on a real port in a thread of this process, for tests that need sockets and short limits."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
import uvicorn

from chamfer.serve import running
from chamfer.serve.asgi import Application
from chamfer.serve.limits import Limits


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int
    server: uvicorn.Server

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self.server.server_state.connections)

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=10, source_address=(source, 0))

    def ask(self, *parts: bytes) -> bytes:
        """Send something, and return what comes until the server closes the connection."""
        with self.connect() as client:
            for part in parts:
                client.sendall(part)
            return received(client)


def received(client: socket.socket) -> bytes:
    """Everything until the connection is closed; a reset after the answer is an end too."""
    got = b""
    try:
        while part := client.recv(1 << 16):
            got += part
    except ConnectionError:
        pass
    return got


@contextmanager
def serving(app: Application, limits: Limits) -> Iterator[Address]:
    servers: list[uvicorn.Server] = []
    has_started = threading.Event()

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        servers.append(server)
        asyncio.run(server.serve(sockets))

    at = running.listen("127.0.0.1", 0)
    settings = {"at": at, "limits": limits, "started": lambda _: has_started.set()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.Server, "run", run)
        thread = threading.Thread(target=running.serve, args=(app,), kwargs=settings)
        thread.start()
        try:
            assert has_started.wait(30)
            yield Address("127.0.0.1", at.getsockname()[1], servers[0])
        finally:
            servers[0].should_exit = True
            thread.join(30)
    assert not thread.is_alive()
