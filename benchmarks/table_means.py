"""What tables of several collections share: corrected comparisons, means with intervals, few queries set apart.

A record is the result of one collection: ``dataset``, ``queries``, and for each of its ``systems`` the ``measures`` and
the comparisons ``against_uniform``.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chamfer.evaluate.collection_means import FEWEST
from chamfer.evaluate.significance import SIGNIFICANCE, holm
from chamfer.weights.zero_shot import UNIFORM

RESULTS = Path(__file__).parent / "results"

# Commits that results name and that no clone has, and the commits that have their work.
NOT_KEPT = {"e0a86d1": "027fb00"}

Record = dict[str, Any]


class Change(NamedTuple):
    """A system compared with uniform weights on one collection, in one measure."""

    collection: str
    queries: int
    value: float
    uniform: float
    p_value: float

    @property
    def percent(self) -> float:
        """Relative change in percent."""
        return 100 * (self.value / self.uniform - 1)

    @property
    def mark(self) -> str:
        """An asterisk for a significant change."""
        return "*" if self.p_value < SIGNIFICANCE else ""


Changes = dict[tuple[str, str], list[Change]]
"""One change for each collection, by system and measure."""


def read_records(benchmark: str) -> list[Record]:
    """One benchmark's results, a record per collection."""
    return [json.loads(path.read_text()) for path in sorted((RESULTS / benchmark).glob("*.json"))]


def not_yet(target: str) -> str:
    """What stands in place of a table without results."""
    return f"Not measured yet on this version; run `make {target}`."


def commits_in(records: Iterable[Record]) -> str:
    """The commits that results were measured on, and what became of one that was not kept."""
    found = sorted({record["environment"]["commit"] or "unknown" for record in records})
    named = [
        f"{one}, which was not kept (its work is part of {NOT_KEPT[one]})" if one in NOT_KEPT else one for one in found
    ]
    return f"commit{'' if len(found) == 1 else 's'} {' and '.join(named)}"


def changes_in(records: Sequence[Record], names: Sequence[str], measures: Sequence[str]) -> Changes:
    """Everything that a table compares with uniform weights; p-values are corrected by Holm's method over all of it."""
    keys = [(name, measure, record) for name in names for measure in measures for record in records]
    systems = [(record["systems"][name], measure) for name, measure, record in keys]
    p_values = holm([system["against_uniform"][measure]["p_value"] for system, measure in systems])
    changes: Changes = {(name, measure): [] for name in names for measure in measures}
    for (name, measure, record), p_value in zip(keys, p_values, strict=True):
        value, uniform = (record["systems"][one]["measures"][measure] for one in (name, UNIFORM))
        changes[name, measure].append(Change(record["dataset"], record["queries"], value, uniform, p_value))
    return changes


def enough(records: Iterable[Record]) -> list[Record]:
    """The collections with at least :data:`FEWEST` test queries."""
    return [record for record in records if record["queries"] >= FEWEST]


def large(changes: Iterable[Change]) -> list[Change]:
    """The changes on such collections."""
    return [change for change in changes if change.queries >= FEWEST]


def number_large(records: Iterable[Record]) -> str:
    """The number of such collections, in words."""
    return f"{len(enough(records))} collections"


def in_two_blocks(records: Sequence[Record], head: Sequence[str], rows: Callable[[Record], list[str]]) -> str:
    """A table of the collections with enough queries, and one of the others if there are any."""
    few = [record for record in records if record["queries"] < FEWEST]
    lines = [*head, *(row for record in enough(records) for row in rows(record))]
    if few:
        lines += ["", f"Fewer than {FEWEST} test queries:", "", *head, *(row for record in few for row in rows(record))]
    return "\n".join(lines)


def counts(changes: Sequence[Change]) -> str:
    """On how many collections a system is better and worse, in brackets how many significantly."""
    found = []
    for sign in (1, -1):
        own = [change for change in changes if sign * (change.value - change.uniform) > 0]
        found.append(f"{len(own)} ({sum(bool(change.mark) for change in own)})")
    return " / ".join(found)
