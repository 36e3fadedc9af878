"""One question to one shard, from the first try to an answer or to the end of its time."""

import time
from typing import Any, Protocol

from chamfer.errors import InputError

# What is waited before a question is asked again of another replica, at first; each time twice as long.
PAUSE = 0.05
# A replica that has not answered in this share of the time is slow, and another is asked beside it.
SLOW = 1 / 3
# What a shard itself refuses, because it cannot open the version, is asked so many times.
REFUSALS = 3


class Response(Protocol):
    """An answer that is on its way."""

    def result(self, *, timeout_s: float | None = None) -> Any:  # noqa: ANN401 -- each question has its own answer
        """Wait for it; ``TimeoutError`` if it takes longer, after which it can be waited for again."""

    def cancel(self) -> None:
        """It is no longer wanted."""


class Replicas(Protocol):
    """All replicas of one shard; each question is answered by one of them."""

    count: int
    """How many there should be."""

    def ask(self, method: str, *arguments: Any) -> Response:  # noqa: ANN401 -- those of the method
        """Ask without waiting."""


class Question:
    """What one shard is asked: again, where a replica was lost, and of a second one beside the first that is slow."""

    def __init__(self, replicas: Replicas, seconds: float, method: str, *arguments: Any) -> None:  # noqa: ANN401
        self.answer: Any = None
        self.is_answered = False
        self.failure: Exception = TimeoutError("it took too long")
        now = time.monotonic()
        self._replicas, self._asked = replicas, (method, *arguments)
        self._slow_at, self._again_at, self._pause = now + SLOW * seconds, now, PAUSE
        self._refusals = 0
        self._waiting: list[Response] = []
        self._ask()

    @property
    def is_over(self) -> bool:
        """Whether it makes no sense to look again."""
        return self.is_answered or self._refusals >= REFUSALS

    def look(self, seconds: float) -> None:
        """Wait for an answer, and ask another replica where one was lost or is slow."""
        self._ask()
        if not self._waiting:
            time.sleep(seconds)
        for response in list(self._waiting):
            try:
                self.answer = response.result(timeout_s=seconds / len(self._waiting))
            except TimeoutError:
                continue
            except Exception as error:
                self._waiting.remove(response)
                self._note(error)
            else:
                self.is_answered = True
                self._waiting.remove(response)
                break

    def end(self) -> None:
        """Tell replicas that their answers are no longer wanted."""
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
