"""Asking many shards at once, and keeping track of those that do not answer."""

import logging
import time
from collections.abc import Mapping, Sequence
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from chamfer.errors import last_line
from chamfer.index.shards import ShardVersion
from chamfer.serve.limits import SHARD_SECONDS
from chamfer.serve.sharded.question import Question, Replicas

# Seconds to wait for one shard before turning to the next.
TURN = 0.02
# Seconds between checks of a lost shard: at first, and at most for one that is lost again and again.
LOOK, RARELY = 1.0, 30.0


class Gathered(NamedTuple):
    """Answers by name of the shard, and the names of the shards that did not answer."""

    answers: dict[str, Any]
    missing: list[str]


class Scatter:
    """Asks all shards of an index.

    A shard that does not answer in time is *lost*: it is not asked again, so that no request waits for it, until a
    background thread gets an answer from it.

    Args:
        shards: replicas of each shard, by name.
        seconds: time limit for a question, including retries.
    """

    def __init__(self, shards: Mapping[str, Replicas], *, seconds: float = SHARD_SECONDS) -> None:
        self.shards, self._seconds = dict(shards), seconds
        self._lost: dict[str, float] = {}  # time of the next check
        self._patience: dict[str, float] = {}
        self._version: ShardVersion | None = None
        self._turns = Lock()
        self._watching: Thread | None = None
        self._closed = Event()

    def close(self) -> None:
        """Stop checking lost shards."""
        self._closed.set()

    @property
    def lost(self) -> list[str]:
        """Names of the shards that are lost now."""
        with self._turns:
            return list(self._lost)

    def ask(self, version: ShardVersion, method: str, arguments: Mapping[str, Sequence[Any]]) -> Gathered:
        """Ask some shards at once and wait for all of them; those that do not answer are lost.

        Args:
            version: version of the shards that every answer is for.
            method: name of a method of :class:`chamfer.serve.sharded.shard.Shard`.
            arguments: arguments after the version, by name of the shard.
        """
        self._version = version
        lost = self.lost
        there = {name: own for name, own in arguments.items() if name not in lost}
        gathered = self.ask_all(version, method, there, seconds=self._seconds)
        for name in gathered.answers:
            self._patience.pop(name, None)
        for name in gathered.missing:
            self._lose(name)
        return Gathered(gathered.answers, sorted({*gathered.missing, *(name for name in arguments if name in lost)}))

    def ask_all(
        self, version: ShardVersion, method: str, arguments: Mapping[str, Sequence[Any]], *, seconds: float
    ) -> Gathered:
        """Like :meth:`ask`, but asks lost shards too, and marks none as lost."""
        stop = time.monotonic() + seconds
        asked = {name: Question(self.shards[name], seconds, method, version, *own) for name, own in arguments.items()}
        waiting = dict(asked)
        try:
            while waiting and (left := stop - time.monotonic()) > 0:
                for name, question in list(waiting.items()):
                    question.look(min(TURN, left))
                    if question.is_over:
                        del waiting[name]
        finally:
            for question in asked.values():
                question.end()
        for name, question in asked.items():
            if not question.is_answered:
                logging.getLogger("chamfer").warning("%s does not answer: %s", name, last_line(question.failure))
        return Gathered(
            {name: question.answer for name, question in asked.items() if question.is_answered},
            sorted(name for name, question in asked.items() if not question.is_answered),
        )

    def _lose(self, name: str) -> None:
        with self._turns:
            patience = self._patience.get(name, LOOK)
            self._patience[name] = min(2 * patience, max(RARELY, LOOK))
            self._lost[name] = time.monotonic() + patience
            if self._watching is None and not self._closed.is_set():
                self._watching = Thread(target=self._watch, name="serve-lost-shards", daemon=True)
                self._watching.start()

    def _watch(self) -> None:
        """Check lost shards by asking them to get ready for work, not only whether they are alive."""
        while not self._closed.wait(min(LOOK, TURN * 10)):
            with self._turns:
                if not self._lost:
                    self._watching = None
                    return
                now = time.monotonic()
                due = [name for name, when in self._lost.items() if when <= now]
                version = self._version
            for name in due:
                back = version is not None and self._is_ready(name, version)
                with self._turns:
                    if back:
                        self._lost.pop(name, None)
                    else:
                        self._lost[name] = time.monotonic() + LOOK

    def _is_ready(self, name: str, version: ShardVersion) -> bool:
        try:
            response = self.shards[name].ask("ready", version)
        except Exception:  # not back yet
            return False
        try:
            response.result(timeout_s=LOOK)
        except Exception:
            response.cancel()
            return False
        return True
