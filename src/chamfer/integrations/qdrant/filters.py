"""Our filters in Qdrant's words, over the fields that every point lists with all their values."""

from qdrant_client import models

from chamfer.errors import InputError
from chamfer.index.fields import Value, short
from chamfer.index.filters import Comparison, Joined, Missing, Node, parse_filter
from chamfer.integrations.qdrant.points import FIELDS

# Beyond it neighbouring whole numbers are the same 64-bit float, which is what Qdrant compares.
LARGEST = 2**53
RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def condition_of(where: str) -> models.Filter:
    """The same filter for Qdrant; an error where Qdrant has no such comparison.

    >>> condition_of("year > 2020").must[0].should[0].range.gt
    2020.0
    """
    return models.Filter(must=[_translated(parse_filter(where).root)])


def _translated(node: Node) -> models.Filter:
    match node:
        case Joined("INTERSECT", parts):
            return models.Filter(must=[_translated(part) for part in parts])
        case Joined(_, parts):
            return models.Filter(should=[_translated(part) for part in parts])
        case Missing(name, negated):
            empty = _empty(name)
            return models.Filter(must_not=[empty]) if negated else models.Filter(must=[empty])
        case Comparison(name, _, _, values, negated):
            holds = models.Filter(should=[_compared(node, value) for value in values])
            # Without the field neither a comparison holds nor its negation.
            return models.Filter(must_not=[holds, _empty(name)]) if negated else holds


def _compared(node: Comparison, value: Value) -> models.FieldCondition:
    key, equal = _key(node.name), node.operator in ("=", "IN")
    if node.kind == "number" and not isinstance(value, str):
        if abs(value) > LARGEST:
            raise InputError(
                f"Qdrant compares numbers up to 2^53, not {short(node.name)} with {value}; search the index itself"
            )
        bounds = {"gte": value, "lte": value} if equal else {RANGES[node.operator]: value}
        return models.FieldCondition(key=key, range=models.Range(**bounds))
    if not equal:
        raise InputError(
            f"Qdrant orders numbers only and knows no 'like', so it cannot compare {short(node.name)} with "
            f"{short(str(value))!r} by {node.operator}; use =, != or in, or search the index itself"
        )
    exact = models.MatchValue(value=bool(value) if node.kind == "boolean" else str(value))
    return models.FieldCondition(key=key, match=exact)


def _empty(name: str) -> models.IsEmptyCondition:
    return models.IsEmptyCondition(is_empty=models.PayloadField(key=_key(name)))


def _key(name: str) -> str:
    """The path to a field, whose name may hold dots."""
    if '"' in name:
        raise InputError(f"Qdrant cannot ask for a field with a quote in its name, as {short(name)} has; rename it")
    return f'{FIELDS}."{name}"'
