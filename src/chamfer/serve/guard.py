"""Checks on every request (size, time, API key, host), and security headers on every response."""

import asyncio
import hmac
import json
import re
import time
from collections.abc import Collection, Mapping

from chamfer.serve.asgi import RETRY, Application, Event, Receive, Refused, Scope, Send
from chamfer.serve.bodies import DOCUMENTS, EVALUATE, JUDGED_FILE, Bodies, needs_body
from chamfer.serve.hosts import check_host
from chamfer.serve.limits import Limits
from chamfer.serve.metrics import Metrics
from chamfer.serve.turns import Turns

HEADERS = [
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
TYPES = ("application/json", "application/octet-stream")


class Guard:
    """An ASGI application that wraps another one.

    Args:
        application: answers the requests that pass.
        limits: limits on requests.
        metrics: records every request.
        methods: methods of each path in the OpenAPI document.
        key: API key that clients must send as ``Authorization: Bearer KEY``; None for no key.
        hosts: host names to answer to, besides IP addresses and localhost; None for any.
    """

    def __init__(
        self,
        application: Application,
        *,
        limits: Limits,
        metrics: Metrics,
        methods: Mapping[str, set[str]],
        key: str | None,
        hosts: Collection[str] | None,
    ) -> None:
        self._application, self._limits, self._metrics = application, limits, metrics
        self._methods, self._key, self._hosts = methods, key, hosts
        self._bodies, self._turns = Bodies(limits), Turns()
        templates = [path for path in methods if "{" in path]
        self._patterns = [(path, re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path))) for path in templates]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        path = self._known(scope["path"]) or "other"
        long = {
            "/learn": self._limits.learning_seconds,
            EVALUATE: self._limits.evaluating_seconds,
            JUDGED_FILE: self._limits.evaluating_seconds,
            DOCUMENTS: self._limits.changing_seconds,
        }
        seconds = long.get(path, self._limits.seconds)
        body = self._bodies.of(scope, receive)
        status = 0
        started = time.perf_counter()

        async def send_guarded(event: Event) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
                event["headers"] = [*event["headers"], *HEADERS]
                if not body.ended:
                    event["headers"].append((b"connection", b"close"))
            await send(event)

        try:
            self._check(scope)
            body.check()
            whole: list[Event] = [{"type": "http.request", "body": await body.read(), "more_body": False}]

            async def replay() -> Event:
                return whole.pop() if whole else await receive()

            if scope["method"] == "HEAD":  # the server drops the body
                scope = {**scope, "method": "GET"}
            started = time.perf_counter()
            with self._metrics.running.track_inprogress():
                async with asyncio.timeout(seconds):
                    if scope["method"] == "GET":  # cheap, and asked for in floods
                        await self._turns.wait()
                    await self._application(scope, replay, send_guarded)
        except Refused as refused:
            await body.discard()
            await answer(send_guarded, refused.status, str(refused), refused.headers)
        except TimeoutError:
            if not status:
                message = f"the request timed out after {seconds:g} seconds; ask for less at a time"
                await answer(send_guarded, 503, message, RETRY)
        finally:
            body.release()
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - started)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if self._hosts is not None:
            check_host(scope, self._hosts)
        path = scope["path"]
        if self._key is not None and path not in ("/", "/health", "/openapi.json") and not path.startswith("/page/"):
            scheme, _, sent = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(sent, self._key.encode()):
                raise Refused(
                    401,
                    "the API key is missing or wrong; send it as Authorization: Bearer KEY",
                    ((b"www-authenticate", b"Bearer"),),
                )
        taken = self._methods.get(self._known(path) or "")
        if taken is not None and scope["method"] not in taken and not (scope["method"] == "HEAD" and "GET" in taken):
            allow = ", ".join(sorted(taken))
            raise Refused(405, f"this path supports {allow}, not {scope['method']}", ((b"allow", allow.encode()),))
        if needs_body(scope):
            kind = headers.get(b"content-type", b"").decode("latin-1").split(";")[0].strip().lower()
            if kind not in TYPES:  # browsers let a form on a foreign page send other types without a preflight
                raise Refused(415, f"the content type must be {' or '.join(TYPES)}, not {kind[:100] or 'empty'}")

    def _known(self, path: str) -> str | None:
        """The path as in the OpenAPI document: ``/weights/{version}`` for ``/weights/3``."""
        if path in self._methods:
            return path
        return next((template for template, pattern in self._patterns if pattern.fullmatch(path)), None)


async def answer(send: Send, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send a message as JSON."""
    body = json.dumps({"message": message}).encode()
    own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})
