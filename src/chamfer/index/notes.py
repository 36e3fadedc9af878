"""Notes on filters: what no document can match, most likely because of a typo."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from chamfer.index.fields import DATE, TEXT, short
from chamfer.index.filters import Filter
from chamfer.index.tallies import Tally

KINDS = {"number": "numbers", "text": "text", "boolean": "booleans"}
# A note names at most this many of the fields that there are.
LISTED = 20


class FieldNames(Protocol):
    """What is known of the fields of an index: a snapshot, or a tally."""

    @property
    def fields(self) -> Sequence[str]:
        """Their names, sorted."""

    def has_field(self, name: str, kind: str | None = None) -> bool:
        """Whether a document has a field, with a value of one kind if a kind is given."""


class TallyFields(NamedTuple):
    """The fields of a tally."""

    tally: Tally

    @property
    def fields(self) -> Sequence[str]:
        """See :class:`FieldNames`."""
        return sorted(self.tally.fields)

    def has_field(self, name: str, kind: str | None = None) -> bool:
        """See :class:`FieldNames`; a field that is not in the tally may exist, if that does not list all."""
        field = self.tally.fields.get(name)
        if field is None:
            return self.tally.unlisted > 0
        return kind is None or kind in field.kinds or (kind == TEXT and DATE in field.kinds)


def filter_notes(index: FieldNames, where: Filter | None) -> list[str]:
    """One sentence for each field of a filter that no document has, or that holds values of other kinds.

    Args:
        index: the fields of the index.
        where: the filter; without one there are no notes.
    """
    return [] if where is None else list(_notes(index, where))


def _notes(index: FieldNames, where: Filter) -> Iterator[str]:
    unknown = [name for name in dict.fromkeys(name for name, _ in where.compared()) if not index.has_field(name)]
    if unknown:
        known = index.fields
        listed = f"{', '.join(map(short, known[:LISTED]))}{', …' if len(known) > LISTED else ''}"
        hint = f"known fields: {listed}" if known else "documents in this index have no metadata"
        yield f"no document has the field {', '.join(repr(short(name)) for name in unknown)}; {hint}"
    kinds: dict[str, dict[str, None]] = {}
    for name, kind in where.compared():
        if name not in unknown and kind is not None:
            kinds.setdefault(name, {})[kind] = None
    for name, compared in kinds.items():
        there = [kind for kind in KINDS if index.has_field(name, kind)]
        words = " and ".join(KINDS[kind] for kind in there)
        for kind in compared:
            if kind not in there:
                yield (
                    f"the field {short(name)!r} holds {words}, never {KINDS[kind]}; "
                    "write text in quotes, and numbers, true and false without quotes"
                )
        left = [KINDS[kind] for kind in there if kind not in compared]
        if left and len(left) < len(there):
            yield (
                f"the field {short(name)!r} holds {words}, and the filter omits {' and '.join(left)}; compare with "
                "both, as in zip = 10115 or zip = '10115'"
            )
