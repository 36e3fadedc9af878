"""How many documents have each field and each of its values: counted in parts of a corpus, and added up.

A part, a segment or a shard, lists no more than its most frequent values. What is added up is still exact: a count that
some part does not know is left out, and so is every value that such a count could exceed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from chamfer.index.fields import Value

MOST_FIELDS, MOST_VALUES = 200, 1000
"""Largest number of fields in a tally, and of values for each kind of value of a field."""

MOST_ASKED = 200
"""Largest number of values of a field that a part is asked for."""

Key = TypeVar("Key", bound="str | int | float")


class Counts(NamedTuple, Generic[Key]):
    """Numbers of documents.

    Args:
        listed: the number of documents that have each of the most frequent keys.
        unlisted: the largest number that another key may have; 0 if there is no other.
    """

    listed: Mapping[Key, int]
    unlisted: int = 0

    def first(self, most: int) -> "Counts[Key]":
        """The most frequent keys, ties broken by key."""
        order = sorted(self.listed, key=lambda key: (-self.listed[key], key))
        dropped = max((self.listed[key] for key in order[most : most + 1]), default=0)
        return Counts({key: self.listed[key] for key in order[:most]}, max(self.unlisted, dropped))


class KindTally(NamedTuple):
    """The values of one kind that a field has.

    Args:
        values: the number of documents that have each value.
        distinct: number of distinct values.
        exact: whether that is the number, or only known to be at least that.
        lowest: the lowest of numbers or dates; None for other kinds.
        highest: the highest of them.
    """

    values: Counts[Value]
    distinct: int
    exact: bool = True
    lowest: Value | None = None
    highest: Value | None = None


class FieldTally(NamedTuple):
    """A field.

    Args:
        documents: number of documents that have it.
        several: whether some document has several values.
        kinds: its values, by kind.
    """

    documents: int
    several: bool
    kinds: Mapping[str, KindTally]


NOWHERE = FieldTally(0, False, {})
"""A field that no document of a part has."""


class Source(Protocol):
    """A part that can be asked for counts that its tally does not list."""

    def field(self, name: str) -> FieldTally:
        """A field."""

    def documents(self, name: str, kind: str, value: Value) -> int:
        """Number of documents that have a value."""


class Tally(NamedTuple):
    """The fields of some documents.

    Args:
        fields: the fields, by name.
        unlisted: the largest number of documents that may have another field; 0 if there is no other.
    """

    fields: Mapping[str, FieldTally]
    unlisted: int = 0

    @property
    def counts(self) -> Counts[str]:
        """The number of documents that have each field."""
        return Counts({name: one.documents for name, one in self.fields.items()}, self.unlisted)

    @classmethod
    def sum(cls, parts: Sequence["Tally"], sources: Sequence[Source] = ()) -> "Tally":
        """The tally of all documents of several parts, none of which is in two of them.

        Args:
            parts: the tallies of the parts.
            sources: the parts, if they can be asked. Otherwise a small part with many rare fields or values, which
                does not list the others, hides these.
        """
        counts = [part.counts for part in parts]
        fields: list[dict[str, FieldTally]] = [{**part.fields} for part in parts]
        for number, source in enumerate(sources):
            for name in worth_asking(counts, number, MOST_FIELDS):
                fields[number][name] = source.field(name)
        whole = [Tally(some, part.unlisted) for some, part in zip(fields, parts, strict=True)]
        known = added([part.counts for part in whole]).first(MOST_FIELDS)
        return cls(
            {
                name: _field(name, [part.fields.get(name, NOWHERE) for part in whole], sources)
                for name, documents in known.listed.items()
                if documents
            },
            known.unlisted,
        )


def added(parts: Sequence[Counts[Key]]) -> Counts[Key]:
    """The counts of several parts together; a key whose count some part does not know is not listed.

    Args:
        parts: counts of different documents.

    >>> added([Counts({"a": 9, "b": 5, "c": 4}, unlisted=3), Counts({"a": 2, "b": 1})])
    Counts(listed={'a': 11, 'b': 6, 'c': 4}, unlisted=3)
    >>> added([Counts({"a": 9, "b": 5}, unlisted=3), Counts({"a": 2, "c": 2}, unlisted=1)])
    Counts(listed={'a': 11}, unlisted=6)
    """
    totals, unknown = _bounds(parts)
    left = [totals[key] + unknown[key] for key in totals if unknown[key]]
    unlisted = sum(part.unlisted for part in parts)
    return Counts({key: count for key, count in totals.items() if not unknown[key]}, max([unlisted, *left]))


def worth_asking(parts: Sequence[Counts[Key]], number: int, most: int) -> list[Key]:
    """The keys that one of several parts does not list, but that may be among the most frequent ones of all parts.

    Args:
        parts: counts of different documents.
        number: number of the part.
        most: how many keys are the most frequent ones.

    >>> worth_asking([Counts({"a": 9, "b": 1}, unlisted=1), Counts({"x": 1, "y": 1}, unlisted=1)], 1, 5)
    ['a']
    """
    if not parts[number].unlisted:
        return []
    totals, unknown = _bounds(parts)
    unlisted = sum(part.unlisted for part in parts)
    likely = [key for key in totals if totals[key] + unknown[key] > unlisted]
    likely.sort(key=lambda key: (-totals[key], key))
    return [key for key in likely[:most] if key not in parts[number].listed]


def _bounds(parts: Sequence[Counts[Key]]) -> tuple[dict[Key, int], dict[Key, int]]:
    """How many documents have each key at least, and how many more may have it."""
    unlisted = sum(part.unlisted for part in parts)
    totals: dict[Key, int] = {}
    unknown: dict[Key, int] = {}
    for part in parts:
        for key, count in part.listed.items():
            totals[key] = totals.get(key, 0) + count
            unknown[key] = unknown.get(key, unlisted) - part.unlisted
    return totals, unknown


def _field(name: str, parts: Sequence[FieldTally], sources: Sequence[Source]) -> FieldTally:
    kinds = {kind: None for part in parts for kind in part.kinds}
    return FieldTally(
        sum(part.documents for part in parts),
        any(part.several for part in parts),
        {kind: _kind(name, kind, parts, sources) for kind in kinds},
    )


def _kind(name: str, kind: str, parts: Sequence[FieldTally], sources: Sequence[Source]) -> KindTally:
    there = [number for number, part in enumerate(parts) if kind in part.kinds]
    each = [parts[number].kinds[kind] for number in there]
    if len(each) == 1:
        return each[0]
    counts = [one.values for one in each]
    whole = list(counts)
    for place, number in enumerate(there if sources else ()):
        asked = {
            value: sources[number].documents(name, kind, value) for value in worth_asking(counts, place, MOST_ASKED)
        }
        whole[place] = counts[place]._replace(listed={**counts[place].listed, **asked})
    everything = added(whole)
    seen = len(set[Value]().union(*(one.listed for one in counts)))
    return KindTally(
        Counts({value: count for value, count in everything.listed.items() if count}, everything.unlisted).first(
            MOST_VALUES
        ),
        max(seen, *(one.distinct for one in each)),
        not any(one.unlisted for one in counts),
        _extreme(min, (one.lowest for one in each)),
        _extreme(max, (one.highest for one in each)),
    )


def _extreme(choose: Callable[[list[Any]], Value], values: Iterable[Value | None]) -> Value | None:
    known = [value for value in values if value is not None]
    return choose(known) if known else None
