"""What stands before every request: its size, its time, who sends it, and what a browser may do with the answer."""

import asyncio
import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from chamfer.serve.metrics import Metrics

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = [
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
PORT = re.compile(r":\d+$")
TYPES = ("application/json", "application/octet-stream")


@dataclass(frozen=True)
class Limits:
    """What a server takes on.

    Args:
        body_bytes: the largest request.
        file_bytes: the largest weights file: a weight and a name for each of a quarter of a million tokens.
        reading_seconds: how long a client may take to send one.
        seconds: how long an answer may take.
        learning_seconds: how long learning may take.
        waiting: how many searches may wait; more are refused, to come again later.
        batch: how many of them are worked on together.
        connections: how many may be open.
    """

    body_bytes: int = 4 << 20
    file_bytes: int = 64 << 20
    reading_seconds: float = 10.0
    seconds: float = 30.0
    learning_seconds: float = 600.0
    waiting: int = 64
    batch: int = 32
    connections: int = 512


class Refused(Exception):  # noqa: N818 -- it is an answer, not a fault
    """An answer that is given without asking the application."""

    def __init__(self, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class Guard:
    """An ASGI application around another.

    Args:
        application: what answers.
        limits: how much a request may ask for.
        metrics: told of every request.
        methods: what each address of the description takes.
        key: what clients must send as ``Authorization: Bearer KEY``, if anything.
        local: refuse names of other hosts, which a browser would send if a foreign page had led it here.
    """

    def __init__(
        self,
        application: Application,
        *,
        limits: Limits,
        metrics: Metrics,
        methods: Mapping[str, set[str]],
        key: str | None,
        local: bool,
    ) -> None:
        self._application, self._limits, self._metrics = application, limits, metrics
        self._methods, self._key, self._local = methods, key, local
        templates = [path for path in methods if "{" in path]
        self._patterns = [(path, re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path))) for path in templates]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        path = self._known(scope["path"]) or "other"
        seconds = self._limits.learning_seconds if path == "/learn" else self._limits.seconds
        status = 0
        started = time.perf_counter()

        async def send_guarded(event: Event) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
                event["headers"] = [*event["headers"], *HEADERS]
            await send(event)

        try:
            self._check(scope)
            replay = await self._read(scope, receive)
            if scope["method"] == "HEAD":  # the server leaves the body away
                scope = {**scope, "method": "GET"}
            started = time.perf_counter()
            with self._metrics.running.track_inprogress():
                async with asyncio.timeout(seconds):
                    await self._application(scope, replay, send_guarded)
        except Refused as refused:
            await answer(send_guarded, refused.status, str(refused), refused.headers)
        except TimeoutError:
            if not status:
                message = f"the answer would take more than {seconds:g} seconds; ask for less at a time"
                await answer(send_guarded, 503, message, ((b"retry-after", b"1"),))
        finally:
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - started)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
        if self._local and (len(hosts) != 1 or PORT.sub("", hosts[0]) not in LOOPBACK):
            raise Refused(421, "this server answers to localhost only; other names need --host")
        path = scope["path"]
        if self._key is not None and path not in ("/", "/health", "/openapi.json") and not path.startswith("/page/"):
            scheme, _, sent = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(sent, self._key.encode()):
                raise Refused(
                    401, "this server wants its API key: Authorization: Bearer KEY", ((b"www-authenticate", b"Bearer"),)
                )
        taken = self._methods.get(self._known(path) or "")
        if taken is not None and scope["method"] not in taken and not (scope["method"] == "HEAD" and "GET" in taken):
            allow = ", ".join(sorted(taken))
            raise Refused(405, f"this address takes {allow}, not {scope['method']}", ((b"allow", allow.encode()),))
        if scope["method"] in ("POST", "PUT"):
            kind = headers.get(b"content-type", b"").decode("latin-1").split(";")[0].strip().lower()
            if kind not in TYPES:  # a form on a foreign page could send anything else without asking
                raise Refused(415, f"send {' or '.join(TYPES)}, not {kind or 'a body without a content type'}")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._most(path):
            raise self._too_large(path)

    async def _read(self, scope: Scope, receive: Receive) -> Receive:
        """Read the whole request, and give it back when the application asks for it."""
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.reading_seconds):
                more = scope["method"] in ("POST", "PUT")
                while more:
                    event = await receive()
                    if event["type"] == "http.disconnect":
                        raise Refused(400, "the request ended before it was complete")
                    body += event.get("body", b"")
                    if len(body) > self._most(scope["path"]):
                        raise self._too_large(scope["path"])
                    more = event.get("more_body", False)
        except TimeoutError:
            message = f"the request took more than {self._limits.reading_seconds:g} seconds to arrive"
            raise Refused(408, message, ((b"connection", b"close"),)) from None
        whole: list[Event] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Event:
            return whole.pop() if whole else await receive()

        return replay

    def _known(self, path: str) -> str | None:
        """An address as the description has it, ``/weights/{version}`` for ``/weights/3``."""
        if path in self._methods:
            return path
        return next((template for template, pattern in self._patterns if pattern.fullmatch(path)), None)

    def _most(self, path: str) -> int:
        return self._limits.file_bytes if path == "/weights/file" else self._limits.body_bytes

    def _too_large(self, path: str) -> Refused:
        message = f"a request has at most {self._most(path) / (1 << 20):g} MB; send less at a time"
        return Refused(413, message, ((b"connection", b"close"),))


async def answer(send: Send, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send one sentence."""
    body = json.dumps({"message": message}).encode()
    own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})
