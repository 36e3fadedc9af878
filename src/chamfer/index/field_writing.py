"""Writing down which documents of a segment have each value of a field; see :mod:`chamfer.index.field_places`."""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.index.damage import damaged
from chamfer.index.fields import STORED_AS, Value, kind_of
from chamfer.index.tallies import MOST_FIELDS, MOST_VALUES
from chamfer.index.texts import Texts, ValueRow

FIELDS, PLACES, COUNTS = "fields.json", "places.npy", "counts.npy"

# Characters of the longest text that is listed as a value. A longer one is prose, which nobody filters by.
LONGEST = 200

Integers = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


class Kept(NamedTuple):
    """A value that may be listed: its number among the values of its kind, in order, and the value."""

    number: int
    value: Any


@dataclass(frozen=True)
class Kind:
    """The values of one kind of a field.

    Args:
        kind: ``text``, ``date``, ``number`` or ``boolean``.
        values: number of distinct values.
        kept: the most frequent ones.
        unkept: the largest number of documents that have another value; 0 if there is no other.
    """

    kind: str
    values: int
    kept: tuple[Kept, ...]
    unkept: int


@dataclass(frozen=True)
class StoredField:
    """A field and its kinds of values."""

    name: str
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class Stored:
    """The fields of a segment, and the largest number of values that another field has; 0 if there is no other."""

    fields: tuple[StoredField, ...]
    unkept: int


class _Writing:
    """The values of one kind of a field, while they are read in order."""

    def __init__(self) -> None:
        self.places: list[Integers] = []
        self.counts: list[Integers] = []
        self._kept: list[tuple[int, int, Value]] = []  # documents, number and value
        self._values = self._unkept = 0

    def add(self, values: list[Value], counts: Integers, places: Integers) -> None:
        """Add the next values, with the places of each of them one after the other."""
        self.places.append(places)
        self.counts.append(counts)
        for number, (value, count) in enumerate(zip(values, counts.tolist(), strict=True), self._values):
            if isinstance(value, str) and len(value) > LONGEST:
                self._unkept = max(self._unkept, count)
            elif len(self._kept) < MOST_VALUES or count > self._unkept:
                self._kept.append((count, number, value))
        self._values += len(values)
        if len(self._kept) > MOST_VALUES:
            self._kept.sort(key=lambda kept: (-kept[0], kept[1]))
            self._unkept = max(self._unkept, self._kept[MOST_VALUES][0])
            del self._kept[MOST_VALUES:]

    def kind(self, name: str) -> Kind:
        """What was read."""
        kept = sorted(self._kept, key=lambda kept: (-kept[0], kept[1]))
        return Kind(name, self._values, tuple(Kept(number, value) for _, number, value in kept), self._unkept)


class Collected(NamedTuple):
    """Fields, the places of their values, and the number of places of each value."""

    fields: tuple[StoredField, ...]
    places: Integers
    counts: Integers


def write_places(folder: Path, texts: Texts) -> None:
    """Write the places of the values of the most frequent fields into a folder.

    Args:
        folder: the folder.
        texts: the documents.
    """
    names, unkept = _chosen(texts)
    fields, places, counts = collected(texts, names, first_places(texts))
    np.save(folder / PLACES, places)
    np.save(folder / COUNTS, counts)
    (folder / FIELDS).write_text(json.dumps(asdict(Stored(fields, unkept))))


def first_places(texts: Texts) -> Mask | None:
    """``(documents,)`` whether a document, and not a later passage of it, is at each place; None without passages."""
    if not texts.split:
        return None
    first = np.zeros(len(texts), np.bool_)
    first[texts.firsts()] = True
    return first


def collected(texts: Texts, names: Iterable[str], first: Mask | None) -> Collected:
    """The places of the values of some fields.

    Args:
        texts: the documents.
        names: names of the fields.
        first: see :func:`first_places`.
    """
    fields, places, counts = list[StoredField](), [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for name in names:
        kinds: dict[str, _Writing] = {}
        for rows in texts.field_values(name):
            _add(kinds, rows, texts, first)
        for kind in kinds.values():
            places += kind.places
            counts += kind.counts
        fields.append(StoredField(name, tuple(one.kind(kind) for kind, one in kinds.items())))
    return Collected(tuple(fields), np.concatenate(places), np.concatenate(counts))


def _chosen(texts: Texts) -> tuple[list[str], int]:
    """The names of the most frequent fields, and the largest number of values that another one has."""
    names = texts.fields()
    if len(names) <= MOST_FIELDS:
        return names, 0
    rows = {name: texts.field_rows(name) for name in names}
    order = sorted(names, key=lambda name: (-rows[name], name))
    return sorted(order[:MOST_FIELDS]), rows[order[MOST_FIELDS]]


def _add(kinds: dict[str, _Writing], rows: list[ValueRow], texts: Texts, first: Mask | None) -> None:
    """Add the next values of a field; each document is counted once, at its first passage."""
    if not all(type(row.value) in STORED_AS.get(row.kind, ()) and isinstance(row.places, str) for row in rows):
        raise damaged(texts.path, "a field has a value of the wrong type")
    number = np.repeat(np.arange(len(rows)), [row.rows for row in rows])
    given = _parsed(rows, texts, len(number))
    if first is not None:
        number, given = number[first[given]], given[first[given]]
    number, given = np.divmod(np.unique(number * len(texts) + given), len(texts))
    counts = np.bincount(number, minlength=len(rows)).astype(np.int32)
    each = np.split(given.astype(np.int32), np.cumsum(counts)[:-1])
    of_kind: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        of_kind.setdefault(kind_of(row.kind, row.value), []).append(place)
    for kind, chosen in of_kind.items():
        own = np.concatenate([each[place] for place in chosen])
        kinds.setdefault(kind, _Writing()).add([rows[place].value for place in chosen], counts[chosen], own)


def _parsed(rows: list[ValueRow], texts: Texts, count: int) -> npt.NDArray[np.int64]:
    """The places of all values, one value after the other."""
    with suppress(DeprecationWarning, ValueError):  # for what is not a number, in a damaged file
        places = np.fromstring(" ".join(row.places for row in rows), np.int64, sep=" ")
        if len(places) == count and 0 <= places.min() <= places.max() < len(texts):
            return places
    raise damaged(texts.path, "a field belongs to no document")
