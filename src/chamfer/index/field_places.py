"""The documents of a segment that have each value of a field; computed once, then memory-mapped.

So the values of live documents are counted without reading the documents, whichever of them are deleted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from chamfer.index.damage import damaged
from chamfer.index.derived import load_array, remedy_for
from chamfer.index.field_writing import (
    COUNTS,
    FIELDS,
    PLACES,
    Kind,
    Stored,
    StoredField,
    collected,
    first_places,
    write_places,
)
from chamfer.index.fields import DATE, NUMBER, STORED_AS, TEXT, Value, fields_of, kind_of
from chamfer.index.segment import Segment
from chamfer.index.tallies import NOWHERE, Counts, FieldTally, KindTally, Tally
from chamfer.index.texts import TEXTS, Texts
from chamfer.support.records import from_json, need

# Increase the number whenever the format or the kinds of values change.
NAME = "fields-1"

Integers = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FieldPlaces:
    """The places of the documents that have each value.

    Args:
        stored: the fields; their values are numbered in this order, kind after kind.
        places: ``(places,)`` the places of every value, one value after the other, each in order.
        starts: ``(values + 1,)`` where those of each value begin.
    """

    stored: Stored
    places: Integers
    starts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, segment: Segment) -> Self:
        """Those of a segment, computed at first use."""
        return segment.derived(
            NAME,
            lambda folder: write_places(folder, segment.database),
            lambda folder: cls.open(folder, len(segment)),
            sources=(TEXTS,),
        )

    @classmethod
    def open(cls, folder: Path, documents: int) -> Self:
        """Memory-map the files that :func:`write_places` wrote for a number of documents."""
        try:
            stored = from_json(Stored, json.loads((folder / FIELDS).read_bytes()))
            kinds = [kind for field in stored.fields for kind in field.kinds]
            places, counts = load_array(folder / PLACES, np.int32), load_array(folder / COUNTS, np.int32)
            need(len(counts) == sum(kind.values for kind in kinds), "its values and counts differ")
            need(counts.min(initial=1) > 0, "a value that no document has is counted")
            need(len(places) == counts.sum(dtype=np.int64), "its places and counts differ")
            need(0 <= places.min(initial=0) <= places.max(initial=0) < max(documents, 1), "a value has no document")
            for kind in kinds:
                need(kind.kind in (*STORED_AS, DATE), "a kind is unknown")
                need(all(0 <= kept.number < kind.values for kept in kind.kept), "a value has no number")
                need(all(type(kept.value) in (str, int, float) for kept in kind.kept), "a value has a wrong type")
        except (ValueError, UnicodeDecodeError, RecursionError) as error:
            raise damaged(folder, error, remedy_for(folder)) from error
        return cls.of_counts(stored, places, counts)

    @classmethod
    def of_counts(cls, stored: Stored, places: Integers, counts: Integers) -> Self:
        """Those of fields that were collected."""
        return cls(stored, places, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]))

    def kinds(self) -> Iterator[tuple[StoredField, list[tuple[Kind, slice]]]]:
        """Every field, with its kinds, each with the slice of its values."""
        first = 0
        for field in self.stored.fields:
            kinds = []
            for kind in field.kinds:
                kinds.append((kind, slice(first, first + kind.values)))
                first += kind.values
            yield field, kinds


class SegmentFields:
    """Counts the live documents of a segment by field and value; passages of a document count once.

    Args:
        segment: the segment; what is counted is kept beside the index.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._live = None if segment.deleted is None else ~segment.deleted

    @cached_property
    def tally(self) -> Tally:
        """The most frequent fields."""
        found = FieldPlaces.of(self._segment)
        return Tally(self._counted(found), found.stored.unkept)

    def field(self, name: str) -> FieldTally:
        """Any field: for those that are rare here, but frequent in other segments."""
        texts = self._segment.database
        if not texts.has_field(name):
            return NOWHERE
        fields, places, counts = collected(texts, [name], self._first)
        return self._counted(FieldPlaces.of_counts(Stored(fields, 0), places, counts)).get(name, NOWHERE)

    def documents(self, name: str, kind: str, value: Value) -> int:
        """Number of documents that have a value."""
        places = self._segment.database.places_with(name, TEXT if kind == DATE else kind, value)
        places = places if self._first is None else places[self._first[places]]
        return len(places) if self._live is None else int(np.count_nonzero(self._live[places]))

    @cached_property
    def _first(self) -> Mask | None:
        return first_places(self._segment.database)

    def _counted(self, stored: FieldPlaces) -> dict[str, FieldTally]:
        segment, live = self._segment, self._live
        fields: dict[str, FieldTally] = {}
        for field, kinds in stored.kinds():
            counts = [_live_counts(stored, values, live) for _, values in kinds]
            documents = _documents(stored, [values for _, values in kinds], live, len(segment))
            if documents:
                fields[field.name] = FieldTally(
                    documents,
                    sum(int(each.sum()) for each in counts) > documents,
                    {
                        kind.kind: _tally(segment.database, stored, field.name, kind, values, each, live)
                        for (kind, values), each in zip(kinds, counts, strict=True)
                        if each.any()
                    },
                )
        return fields


def _live_counts(stored: FieldPlaces, values: slice, live: Mask | None) -> npt.NDArray[np.int64]:
    """``(values,)`` number of live documents that have each value."""
    starts = stored.starts[values.start : values.stop + 1]
    if live is None or len(starts) == 1:
        return np.diff(starts)
    counted = live[stored.places[starts[0] : starts[-1]]]
    return np.add.reduceat(counted, starts[:-1] - starts[0], dtype=np.int64)


def _documents(stored: FieldPlaces, kinds: list[slice], live: Mask | None, documents: int) -> int:
    """Number of live documents that have a value."""
    has = np.zeros(documents, np.bool_)
    for values in kinds:
        has[stored.places[stored.starts[values.start] : stored.starts[values.stop]]] = True
    return int(np.count_nonzero(has if live is None else has & live))


def _tally(
    texts: Texts,
    stored: FieldPlaces,
    name: str,
    kind: Kind,
    values: slice,
    counts: npt.NDArray[np.int64],
    live: Mask | None,
) -> KindTally:
    there = np.flatnonzero(counts)
    listed = {kept.value: int(counts[kept.number]) for kept in kind.kept if counts[kept.number]}
    lowest = highest = None
    if kind.kind in (NUMBER, DATE):
        lowest, highest = (
            choose(_values_of(texts, stored, name, kind.kind, values.start + int(number), live))
            for choose, number in ((min, there[0]), (max, there[-1]))
        )
    return KindTally(Counts(listed, kind.unkept), len(there), lowest=lowest, highest=highest)


def _values_of(texts: Texts, stored: FieldPlaces, name: str, kind: str, number: int, live: Mask | None) -> list[Any]:
    """The values of one kind of the first live document that has the value with a number."""
    places = stored.places[stored.starts[number] : stored.starts[number + 1]]
    place = places[0] if live is None else places[live[places]][0]
    [document] = texts.documents(np.array([place]))
    fields = fields_of(document.metadata)
    found = [value for own, stored_as, value in fields if own == name and kind_of(stored_as, value) == kind]
    if not found:
        raise damaged(texts.path, "the metadata and the fields of a document differ")
    return found
