"""What an attack is, and what it counts."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["lost", "phantom", "wrong", "crashes", "raw", "broken"]

# Descriptions kept of what went wrong; the counts go on.
MOST_FAILURES = 20


@dataclass(frozen=True, slots=True)
class Attack:
    """How the driver runs an attack.

    A file of this folder is an attack if it defines ``ATTACK = Attack(...)`` and
    ``run(count, *, seed, folder, seconds) -> Tally``: make ``count`` attempts, chosen by ``seed``, in the empty
    ``folder``, and stop early after ``seconds``. It runs in a process of its own, which has no other threads when
    ``run`` begins, so it may fork. Nothing else lists the attacks.

    Args:
        title: the attack in a few words, for tables.
        unit: what is counted.
        count: attempts in a whole campaign.
        quick: attempts with ``--quick``, which take a few seconds and are part of ``make test``.
        seconds: time limit of the whole campaign; an attack that stops there before ``count`` is incomplete.
        alone: whether it measures times, so that no other attack may run beside it.
    """

    title: str
    unit: str
    count: int
    quick: int
    seconds: float
    alone: bool = False


@dataclass(slots=True)
class Tally:
    """Attempts and what came of them. Everything but the attempts must end at 0.

    Args:
        attempts: attempts made.
        lost: committed documents that were gone.
        phantom: documents that were never committed.
        wrong: answers that were wrong without an error.
        crashes: processes that died or hung by themselves.
        raw: exceptions that are not the project's own, or answers of 500.
        broken: other promises that were not kept, such as a latency.
        incomplete: a sentence about each promise that could not be judged; such a campaign has not passed.
        facts: other numbers of interest, named in plain English.
        failures: a sentence about each of the first failures.
    """

    attempts: int = 0
    lost: int = 0
    phantom: int = 0
    wrong: int = 0
    crashes: int = 0
    raw: int = 0
    broken: int = 0
    incomplete: list[str] = field(default_factory=list)
    facts: dict[str, int | float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def fail(self, kind: Kind, what: str) -> None:
        """Count a failure."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.failures) < MOST_FAILURES:
            self.failures.append(f"{kind}: {what}")

    def count(self, fact: str, by: int = 1) -> None:
        """Count something that is of interest but no failure."""
        self.facts[fact] = self.facts.get(fact, 0) + by
