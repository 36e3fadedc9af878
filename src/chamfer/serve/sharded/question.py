"""One question to one shard: retries and hedging until it answers or time runs out."""

import time
from typing import Any, Protocol

from chamfer.errors import InputError
from chamfer.index.filters import SlowFilterError

# Seconds before the first retry; doubled for every further one.
PAUSE = 0.05
# After this share of the time limit without an answer, a second replica is asked in parallel.
SLOW = 1 / 3
# Tries before giving up on a shard that cannot open the version.
REFUSALS = 3


class Response(Protocol):
    """A pending answer."""

    def result(self, *, timeout_s: float | None = None) -> Any:  # noqa: ANN401 -- each method has its own type of answer
        """Wait for the answer; after a ``TimeoutError`` it can be waited for again."""

    def cancel(self) -> None:
        """Give up on the answer."""


class Replicas(Protocol):
    """The replicas of one shard; one of them answers each question."""

    count: int
    """The intended number of replicas."""

    def ask(self, method: str, *arguments: Any) -> Response:  # noqa: ANN401 -- the arguments of the method
        """Send a question without waiting for its answer."""


class Question:
    """A question to one shard, retried after a failure and sent to a second replica if the first is slow."""

    def __init__(self, replicas: Replicas, seconds: float, method: str, *arguments: Any) -> None:  # noqa: ANN401
        self.answer: Any = None
        self.is_answered = False
        self.failure: Exception = TimeoutError("timed out")
        now = time.monotonic()
        self._replicas, self._asked = replicas, (method, *arguments)
        self._slow_at, self._again_at, self._pause = now + SLOW * seconds, now, PAUSE
        self._refusals = 0
        self._waiting: list[Response] = []
        self._ask()

    @property
    def is_over(self) -> bool:
        """Whether the question is answered or was refused too often."""
        return self.is_answered or self._refusals >= REFUSALS

    def look(self, seconds: float) -> None:
        """Wait for an answer, and ask another replica if one failed or is slow."""
        self._ask()
        if not self._waiting:
            time.sleep(seconds)
        for response in list(self._waiting):
            try:
                self.answer = response.result(timeout_s=seconds / len(self._waiting))
            except TimeoutError:
                continue
            except SlowFilterError:  # another replica would take as long, and the shard is not to blame
                raise
            except Exception as error:
                self._waiting.remove(response)
                self._note(error)
            else:
                self.is_answered = True
                self._waiting.remove(response)
                break

    def end(self) -> None:
        """Cancel pending answers."""
        for response in self._waiting:
            response.cancel()

    def _ask(self) -> None:
        now = time.monotonic()
        is_slow = len(self._waiting) == 1 < self._replicas.count and now >= self._slow_at
        if now < self._again_at or (self._waiting and not is_slow):
            return
        try:
            self._waiting.append(self._replicas.ask(*self._asked))
        except Exception as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        self.failure = error
        self._refusals += isinstance(error, InputError)
        self._again_at = time.monotonic() + self._pause
        self._pause *= 2
