"""Request bodies: large ones that arrive together cannot fill the memory, nor keep small ones out."""

import asyncio
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from chamfer.serve.asgi import Event, Refused
from chamfer.serve.bodies import FILE, SMALL, Bodies, Body
from chamfer.serve.limits import Limits
from chamfer.serve.turns import AT_ONCE, PER_SECOND, Turns

LIMITS = Limits(body_bytes=4 * SMALL, file_bytes=8 * SMALL, waiting=2)


def body(bodies: Bodies, path: str, *sizes: int) -> Body:
    """A body that arrives in parts of these sizes."""
    parts: Iterator[tuple[int, int]] = iter(enumerate(sizes, 1))

    async def receive() -> Event:
        number, size = next(parts)
        return {"type": "http.request", "body": bytes(size), "more_body": number < len(sizes)}

    return bodies.of({"type": "http", "path": path, "method": "PUT", "headers": []}, receive)


@pytest.mark.parametrize(("path", "large"), [("/rerank", LIMITS.body_bytes), (FILE, LIMITS.file_bytes)])
def test_the_total_of_large_bodies_is_limited_until_their_requests_are_answered(path: str, large: int) -> None:
    async def run() -> None:
        bodies = Bodies(LIMITS)
        first, second = body(bodies, path, large // 2, large // 2), body(bodies, path, large)
        assert len(await first.read()) == len(await second.read()) == large
        third = body(bodies, path, large // 2, large // 2 - 1, 1)
        with pytest.raises(Refused, match="too many large requests") as refused:
            await third.read()
        assert (refused.value.status, third.ended) == (429, False)
        third.release()
        assert len(await body(bodies, path, SMALL).read()) == SMALL, "small ones are always read"
        other = "/rerank" if path == FILE else FILE
        assert len(await body(bodies, other, LIMITS.body_bytes).read()) == LIMITS.body_bytes, "files wait apart"
        first.release()
        assert len(await body(bodies, path, large).read()) == large

    asyncio.run(run())


def test_a_flood_gets_turns_in_order_some_at_once_and_the_rest_in_time() -> None:
    async def flood() -> list[float]:
        turns, loop, ended = Turns(), asyncio.get_running_loop(), list[float]()

        async def one() -> None:
            await turns.wait()
            ended.append(loop.time())

        began = loop.time()
        tasks = [asyncio.create_task(one()) for _ in range(int(AT_ONCE) + 31)]
        await asyncio.sleep(0)
        tasks[-1].cancel()  # takes no turn
        await asyncio.gather(*tasks, return_exceptions=True)
        return [at - began for at in ended]

    ended = asyncio.run(flood())
    assert len(ended) == AT_ONCE + 30
    assert max(ended[: int(AT_ONCE)]) < 20 / PER_SECOND
    assert ended[-1] >= 29 / PER_SECOND
