"""Running the server until it is stopped."""

import gc
import socket
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial

import uvicorn

from chamfer.errors import InputError
from chamfer.serve.asgi import Application
from chamfer.serve.connections import Connection
from chamfer.serve.limits import Limits

# Seconds that running requests have to finish after a signal to stop.
STOPPING_SECONDS = 30

# A search gives up Python's global lock in every operation of torch and of the kernel. While the event loop is busy, it
# waits about this long to get it back; Python's own 5 ms add up over dozens of operations.
SWITCH_SECONDS = 0.0002


class Server(uvicorn.Server):
    """Reports its address once it listens."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._started(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def listen(host: str, port: int) -> socket.socket:
    """Bind an address; cheap enough to do before a model is loaded.

    Args:
        host: address of this machine.
        port: port number; 0 for any free port.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)[0]
        # asyncio disables Nagle's algorithm, which delays every answer by 40 ms, only if the protocol is given.
        at = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"{host} is not an address of this machine; choose another --host") from error
    try:
        at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        at.bind(address)
        at.listen(2048)
        return at
    except OSError as error:
        at.close()
        reason = error.strerror or str(error)
        raise InputError(f"cannot listen on {host}, port {port} ({reason}); choose another --host or --port") from error


def serve(app: Application, *, at: socket.socket, limits: Limits, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM, then finish the running requests.

    Args:
        app: application from :func:`chamfer.serve.app.create_app`.
        at: socket from :func:`listen`.
        limits: limits on connections.
        started: called with the address once the server listens.
    """
    config = uvicorn.Config(
        app,
        http=partial(Connection, limits=limits, held=Counter()),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_level="error",  # a warning for every malformed request would let clients fill the log
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # a full collection in the midst of a request would visit all modules and the model: 0.25 s
    try:
        Server(config, started).run(sockets=[at])
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)
