"""Checks on every request (size, time, API key, host), and security headers on every response."""

import asyncio
import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from chamfer.serve.limits import Limits
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
LOOPBACK = ("localhost", "127.0.0.1", "::1")
LOOPBACK_HOSTS = tuple(f"[{name}]" if ":" in name else name for name in LOOPBACK)
PORT = re.compile(r":\d+$")
TYPES = ("application/json", "application/octet-stream")


class Refused(Exception):  # noqa: N818 -- a response, not a failure
    """A request that is answered without reaching the application."""

    def __init__(self, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class Guard:
    """An ASGI application that wraps another one.

    Args:
        application: answers the requests that pass.
        limits: limits on requests.
        metrics: records every request.
        methods: methods of each path in the OpenAPI document.
        key: API key that clients must send as ``Authorization: Bearer KEY``; None for no key.
        local: whether to refuse requests for other host names than this machine's, against DNS rebinding.
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
            if scope["method"] == "HEAD":  # the server drops the body
                scope = {**scope, "method": "GET"}
            started = time.perf_counter()
            with self._metrics.running.track_inprogress():
                async with asyncio.timeout(seconds):
                    await self._application(scope, replay, send_guarded)
        except Refused as refused:
            await answer(send_guarded, refused.status, str(refused), refused.headers)
        except TimeoutError:
            if not status:
                message = f"the request timed out after {seconds:g} seconds; ask for less at a time"
                await answer(send_guarded, 503, message, ((b"retry-after", b"1"),))
        finally:
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - started)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
        if self._local and (len(hosts) != 1 or PORT.sub("", hosts[0]) not in LOOPBACK_HOSTS):
            raise Refused(421, "this server answers only to localhost; start it with --host to serve other names")
        path = scope["path"]
        if self._key is not None and path not in ("/", "/health", "/openapi.json") and not path.startswith("/page/"):
            scheme, _, sent = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(sent, self._key.encode()):
                raise Refused(
                    401,
                    "an API key is required; send it as Authorization: Bearer KEY",
                    ((b"www-authenticate", b"Bearer"),),
                )
        taken = self._methods.get(self._known(path) or "")
        if taken is not None and scope["method"] not in taken and not (scope["method"] == "HEAD" and "GET" in taken):
            allow = ", ".join(sorted(taken))
            raise Refused(405, f"this path supports {allow}, not {scope['method']}", ((b"allow", allow.encode()),))
        if scope["method"] in ("POST", "PUT"):
            kind = headers.get(b"content-type", b"").decode("latin-1").split(";")[0].strip().lower()
            if kind not in TYPES:  # browsers let a form on a foreign page send other types without a preflight
                raise Refused(415, f"the content type must be {' or '.join(TYPES)}, not {kind or 'empty'}")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._most(path):
            raise self._too_large(path)

    async def _read(self, scope: Scope, receive: Receive) -> Receive:
        """Read the whole request body, and return a function that replays it to the application."""
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.reading_seconds):
                more = scope["method"] in ("POST", "PUT")
                while more:
                    event = await receive()
                    if event["type"] == "http.disconnect":
                        raise Refused(400, "the connection closed before the request was complete")
                    body += event.get("body", b"")
                    if len(body) > self._most(scope["path"]):
                        raise self._too_large(scope["path"])
                    more = event.get("more_body", False)
        except TimeoutError:
            most = self._limits.reading_seconds
            message = f"the request took longer than {most:g} seconds to arrive; send less at a time"
            raise Refused(408, message, ((b"connection", b"close"),)) from None
        whole: list[Event] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Event:
            return whole.pop() if whole else await receive()

        return replay

    def _known(self, path: str) -> str | None:
        """The path as in the OpenAPI document: ``/weights/{version}`` for ``/weights/3``."""
        if path in self._methods:
            return path
        return next((template for template, pattern in self._patterns if pattern.fullmatch(path)), None)

    def _most(self, path: str) -> int:
        return self._limits.file_bytes if path == "/weights/file" else self._limits.body_bytes

    def _too_large(self, path: str) -> Refused:
        message = f"the request is larger than the limit of {self._most(path) / (1 << 20):g} MB; send less at a time"
        return Refused(413, message, ((b"connection", b"close"),))


async def answer(send: Send, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send a message as JSON."""
    body = json.dumps({"message": message}).encode()
    own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})
