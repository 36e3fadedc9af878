"""One question to many shards: asked again where a replica was lost, and told which shards are missing in the end."""

import logging
import time
from collections.abc import Mapping, Sequence
from threading import Lock, Thread
from typing import Any, NamedTuple, Protocol

# A question is asked so many times at most, each time of whichever replica is free; one that was lost or hangs is then
# passed over. Waiting for a replica that is being started counts as one of them.
TRIES = 3
# Between two tries, and between two looks at whether a lost shard is back, in seconds.
PAUSE, LOOK = 0.05, 1.0


class Response(Protocol):
    """An answer that is on its way."""

    def result(self, *, timeout_s: float | None = None) -> Any:  # noqa: ANN401 -- each question has its own answer
        """Wait for it; ``TimeoutError`` if it takes longer."""

    def cancel(self) -> None:
        """It is no longer wanted."""


class Replicas(Protocol):
    """All replicas of one shard; each question is answered by one of them."""

    def ask(self, method: str, *arguments: Any) -> Response:  # noqa: ANN401 -- those of the method
        """Ask without waiting."""


class Gathered(NamedTuple):
    """Answers by the name of the shard, and the names of those that gave none."""

    answers: dict[str, Any]
    missing: list[str]


class Scatter:
    """All shards of a set.

    A shard that gives no answer in time is *lost*: it is not asked again, so that nobody waits for it, until it
    answers to a thread that looks after it every second.

    Args:
        shards: the replicas of each shard, by its name.
        seconds: how long a question may take, all tries together.
    """

    def __init__(self, shards: Mapping[str, Replicas], *, seconds: float = 10.0) -> None:
        self._shards, self._seconds = dict(shards), seconds
        self._lost: dict[str, int] = {}
        self._turns = Lock()
        self._watching: Thread | None = None

    @property
    def names(self) -> list[str]:
        """Of the shards, in their order."""
        return list(self._shards)

    def ask(
        self,
        version: int,
        method: str,
        arguments: Mapping[str, Sequence[Any]],
        *,
        seconds: float | None = None,
        losing: bool = True,
    ) -> Gathered:
        """Ask some shards at once, and wait for all of them.

        Args:
            version: of the set; every answer is of this one.
            method: of :class:`chamfer.serve.sharded.shard.Shard`.
            arguments: beside the version, by the name of the shard.
            seconds: other than usual.
            losing: whether a shard that gives no answer counts as lost from now on.
        """
        stop = time.monotonic() + (self._seconds if seconds is None else seconds)
        with self._turns:
            missing = [name for name in arguments if name in self._lost]
        asked = [name for name in arguments if name not in missing]
        started = {name: self._start(name, method, version, *arguments[name]) for name in asked}
        answers: dict[str, Any] = {}
        for name in asked:
            try:
                answers[name] = self._wait(name, started[name], stop, method, version, *arguments[name])
            except Exception as error:
                logging.getLogger("chamfer").warning("%s gives no answer: %s", name, _first_line(error))
                missing.append(name)
                if losing:
                    self._lose(name, version)
        return Gathered(answers, sorted(missing))

    def _start(self, name: str, method: str, *arguments: Any) -> Response | Exception:  # noqa: ANN401
        try:
            return self._shards[name].ask(method, *arguments)
        except Exception as error:  # told when it is waited for, as any other
            return error

    def _wait(self, name: str, response: Response | Exception, stop: float, method: str, *arguments: Any) -> Any:  # noqa: ANN401
        for left in range(TRIES - 1, -1, -1):
            try:
                if isinstance(response, Exception):
                    raise response
                return response.result(timeout_s=max(0.0, (stop - time.monotonic()) / (left + 1)))
            except Exception as error:
                if isinstance(error, TimeoutError) and not isinstance(response, Exception):
                    response.cancel()
                if not left or time.monotonic() >= stop:
                    raise
            time.sleep(PAUSE)
            response = self._start(name, method, *arguments)
        raise AssertionError("the last try returns or raises")

    def _lose(self, name: str, version: int) -> None:
        with self._turns:
            self._lost[name] = version
            if self._watching is None:
                self._watching = Thread(target=self._watch, name="serve-lost-shards", daemon=True)
                self._watching.start()

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK)
            with self._turns:
                lost = dict(self._lost)
                if not lost:
                    self._watching = None
                    return
            for name, version in lost.items():
                try:
                    self._shards[name].ask("prepare", version).result(timeout_s=LOOK)
                except Exception:  # not yet
                    continue
                with self._turns:
                    del self._lost[name]


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[-1]
