"""Hostile clients of a server: ``python hostile.py PORT COUNT SEED SECONDS LONGEST`` prints what came of it as JSON.

A program of its own that imports nothing large, so that a good client in another process can measure its latency.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

# Every attack comes from these addresses; the good client has another one.
ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")

# Attacks at a time that keep their connections for long, and the pause between two others, in seconds: a server on
# two cores shares them with its attackers.
HELD, PAUSE = 300, 0.004

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Kind = Callable[[random.Random, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HOST = b"host: localhost\r\n"
JSON = b"content-type: application/json\r\n"
FILE = b"PUT /weights/file HTTP/1.1\r\n" + HOST + b"content-type: application/octet-stream\r\n"
GET = b"GET /health HTTP/1.1\r\n" + HOST
POST = b"POST /search HTTP/1.1\r\n" + HOST + JSON

# As many values as fit into the largest body.
FULL = (4 << 20) - 100
DENSE = [b"[" + part * (FULL // len(part)) + b"1]" for part in (b"[],", b"{},", b'"",', b'",",', b"1,")]

# The longest filter, of the most comparisons, with the longest patterns that a server takes.
PATTERNS = [f"text like '%{'e' * (length - 2)}_'" for length in (199, 198, 197)]
FILTERS = (" or ".join(PATTERNS * 3), " and ".join(f"not year{place} >= {place}" for place in range(50)))


async def _drip(writer: asyncio.StreamWriter, part: bytes, pause: float = 0.5) -> None:
    while True:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(pause)


async def silent(_: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say nothing."""
    await reader.read()


async def slow_head(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send headers without end, or empty lines, a few bytes at a time."""
    start, part = chance.choice([(GET, b"a: b\r\n"), (b"", b"\r\n"), (b"GET /", b"x"), (GET + b"\r\n", b"\r\n")])
    writer.write(start)
    await _drip(writer, part)


async def slow_body(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Announce a body, and send it a byte at a time."""
    start = chance.choice([POST, GET, FILE, b"PUT /search HTTP/1.1\r\n" + HOST])
    kind = chance.choice([b"content-length: 4000", b"content-length: 4000000", b"transfer-encoding: chunked"])
    writer.write(start + kind + b"\r\n\r\n")
    await _drip(writer, b"1\r\nx\r\n" if b"chunked" in kind else b" ")


async def slow_reader(_: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Ask again and again, and read nothing."""
    reader._limit = 1  # type: ignore[attr-defined]  # so that nothing is read from the socket
    await _drip(writer, b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n")


async def large_head(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send megabytes of URL, header, headers, chunk extension or trailers."""
    chunked = POST + b"transfer-encoding: chunked\r\n\r\n"
    start, part = chance.choice(
        [
            (b"GET /", b"x" * 60_000),
            (GET + b"a: ", b"x" * 60_000),
            (GET, b"a: b\r\n" * 10_000),
            (chunked + b"1;", b"x" * 60_000),
            (chunked + b"0\r\n", b"a: b\r\n" * 10_000),
        ]
    )
    writer.write(start)
    for _ in range(100):
        writer.write(part)
        await writer.drain()


async def large_body(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a body of the largest size or more."""
    start, size = chance.choice([(POST, 4 << 20), (POST, 5 << 20), (FILE, 64 << 20), (GET, 1 << 20)])
    announced = chance.random() < 0.5
    writer.write(start + (b"content-length: %d\r\n\r\n" % size if announced else b"transfer-encoding: chunked\r\n\r\n"))
    part = b" " * 65_536
    for _ in range(0, size, len(part)):
        writer.write(part if announced else b"10000\r\n" + part + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0.005)


async def odd_body(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send JSON that is deep, broken, wrong or random."""
    path = chance.choice([b"/search", b"/rerank", b"/explain", b"/learn", b"/learn/check", b"/weights/use"])
    body = chance.choice(
        [
            b"[" * 50_000,
            b'{"query": "\\ud800"}',
            b'{"query": "a", "documents": [' + b"{}," * 20_000 + b"{}]}",
            b'{"query": 1e999, "k": NaN}',
            b'{"query": "cat", "k": 1000, "where": "' + b"(" * 2000 + b'"}',
            chance.randbytes(chance.randrange(1, 2000)),
            b'{"query": "a", "documents": ' + chance.choice(DENSE) + b"}",
            b'{"query": "a", "documents": [{"text": "a", "more": ' + chance.choice(DENSE) + b"}]}",
        ]
    )
    writer.write(b"POST " + path + b" HTTP/1.1\r\n" + HOST + JSON + b"content-length: %d\r\n\r\n" % len(body) + body)
    await reader.read(12)


async def noise(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send random bytes, or a request with some of its bytes changed."""
    sent = bytearray(POST + b'content-length: 16\r\n\r\n{"query": "cat"}')
    for _ in range(chance.randrange(1, 6)):
        sent[chance.randrange(len(sent))] = chance.randrange(256)
    writer.write(chance.choice([bytes(sent), chance.randbytes(chance.randrange(1, 3000))]))
    await writer.drain()
    await asyncio.wait_for(reader.read(12), 0.05)


async def pipeline(_: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send thousands of requests at once."""
    writer.write((GET + b"\r\n") * 3000)
    await reader.read(12)


async def flood(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Ask for cheap things as fast as they are answered."""
    path = chance.choice([b"/health", b"/openapi.json", b"/nothing", b"/weights", b"/index", b"/index?values=7", b"/"])
    for _ in range(20):
        writer.write(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")


async def slow_filters(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Search with filters that take long."""
    body = json.dumps({"query": "cat", "where": chance.choice(FILTERS)}).encode()
    writer.write(POST + b"content-length: %d\r\n\r\n" % len(body) + body)
    await reader.read(12)


async def foreign(chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Ask for another host, or for another method."""
    writer.write(chance.choice([b"GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n", b"BREW /search HTTP/1.1\r\n\r\n"]))
    await reader.read(12)


LONG: tuple[Kind, ...] = (silent, slow_head, slow_body, slow_reader)
MUST_END: tuple[Kind, ...] = (silent, slow_head, slow_body)  # the last of them sends whole requests
QUICK: tuple[Kind, ...] = (large_head, large_body, odd_body, noise, pipeline, flood, slow_filters, foreign)


async def attack(port: int, count: int, seed: int, seconds: float, longest: float) -> dict[str, Any]:
    """Attack a server, and count what was tried, what was answered first, and which connections it closed in time.

    Args:
        port: port of the server.
        count: attacks to make.
        seed: seed of what is chosen.
        seconds: time for all of them.
        longest: time for each: longer than the server waits for a request.
    """
    chance, stop = random.Random(seed), time.monotonic() + seconds
    tried: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    ended: Counter[bool] = Counter()
    running: dict[bool, set[asyncio.Task[None]]] = {True: set(), False: set()}

    async def one(kind: Kind, own: random.Random) -> None:
        try:
            address = (own.choice(ADDRESSES), 0)
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=address)
        except OSError:
            answered["no connection"] += 1
            return
        start = bytearray()
        feed = reader.feed_data

        def watched(data: bytes) -> None:
            start.extend(data[: max(0, 12 - len(start))])
            feed(data)

        reader.feed_data = watched  # type: ignore[method-assign, assignment]
        limit = min(longest, max(0.1, stop - time.monotonic()))
        try:
            await asyncio.wait_for(kind(own, reader, writer), limit)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            is_closed = bool(reader._eof or reader.exception())  # type: ignore[attr-defined]  # even with bytes unread
            writer.transport.abort()
        if kind in MUST_END and limit == longest:
            ended[is_closed] += 1
        answered[start[9:].decode("latin-1") if start.startswith(b"HTTP/1.1 ") else "nothing"] += 1

    while sum(tried.values()) < count and time.monotonic() < stop:
        is_long = len(running[True]) < HELD and chance.random() < 0.5
        if not is_long and len(running[False]) >= 30:
            await asyncio.sleep(PAUSE)
            continue
        kind = chance.choice(LONG if is_long else QUICK)
        tried[kind.__name__.replace("_", " ")] += 1
        task = asyncio.create_task(one(kind, random.Random(chance.random())))
        running[is_long].add(task)
        task.add_done_callback(running[is_long].discard)
        await asyncio.sleep(PAUSE)
    await asyncio.gather(*running[True], *running[False], return_exceptions=True)
    return {"tried": dict(tried), "answered": dict(answered), "closed": ended[True], "held": ended[False]}


if __name__ == "__main__":
    os.nice(19)  # the cores of attackers are not those of the server; here they share two
    port, count, seed, seconds, longest = sys.argv[1:]
    print(json.dumps(asyncio.run(attack(int(port), int(count), int(seed), float(seconds), float(longest)))))
