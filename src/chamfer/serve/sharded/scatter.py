"""One question to many shards at once, and told which of them are missing in the end."""

import logging
import time
from collections.abc import Mapping, Sequence
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from chamfer.errors import last_line
from chamfer.index.shards import ShardVersion
from chamfer.serve.sharded.question import Question, Replicas

# A shard is looked at for so long before the next one is, in seconds.
TURN = 0.02
# How often it is looked whether a lost shard is back: at first, and at the least for one that is lost again and again.
LOOK, RARELY = 1.0, 30.0


class Gathered(NamedTuple):
    """Answers by the name of the shard, and the names of those that gave none."""

    answers: dict[str, Any]
    missing: list[str]


class Scatter:
    """All shards of a set.

    A shard that gives no answer in time is *lost*: it is not asked again, so that nobody waits for it, until it
    answers to a thread that looks after it.

    Args:
        shards: the replicas of each shard, by its name.
        seconds: how long a question may take, all tries together.
    """

    def __init__(self, shards: Mapping[str, Replicas], *, seconds: float = 10.0) -> None:
        self.shards, self._seconds = dict(shards), seconds
        self._lost: dict[str, float] = {}  # when it is looked at again
        self._patience: dict[str, float] = {}
        self._version: ShardVersion | None = None
        self._turns = Lock()
        self._watching: Thread | None = None
        self._closed = Event()

    def close(self) -> None:
        """Look after nothing any more."""
        self._closed.set()

    @property
    def lost(self) -> list[str]:
        """The shards that are not asked now."""
        with self._turns:
            return list(self._lost)

    def ask(self, version: ShardVersion, method: str, arguments: Mapping[str, Sequence[Any]]) -> Gathered:
        """Ask some shards at once, and wait for all of them.

        Args:
            version: of the set; every answer is of this one.
            method: of :class:`chamfer.serve.sharded.shard.Shard`.
            arguments: beside the version, by the name of the shard.
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
        """Like :meth:`ask`, also those that are lost; who gives no answer is not lost for that."""
        stop = time.monotonic() + seconds
        asked = {name: Question(self.shards[name], seconds, method, version, *own) for name, own in arguments.items()}
        waiting = dict(asked)
        while waiting and (left := stop - time.monotonic()) > 0:
            for name, question in list(waiting.items()):
                question.look(min(TURN, left))
                if question.is_over:
                    del waiting[name]
        for name, question in asked.items():
            question.end()
            if not question.is_answered:
                logging.getLogger("chamfer").warning("%s gives no answer: %s", name, last_line(question.failure))
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
        """Ask lost shards for the work that they are wanted for, not only whether they are there."""
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
        except Exception:  # not yet
            return False
        try:
            response.result(timeout_s=LOOK)
        except Exception:
            response.cancel()
            return False
        return True
