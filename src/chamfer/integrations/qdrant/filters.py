"""Translate our filters to Qdrant's, over the field values in the payload of each point."""

from qdrant_client import models

from chamfer.errors import InputError
from chamfer.index.fields import Value, short
from chamfer.index.filters import Comparison, Joined, Missing, Node, parse_filter
from chamfer.integrations.qdrant.points import FIELDS

# Qdrant compares 64-bit floats, which cannot tell larger neighbouring integers apart.
LARGEST = 2**53
RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def condition_of(where: str) -> models.Filter:
    """Translate a filter; raises an error if Qdrant has no such comparison.

    >>> condition_of("year > 2020").must[0].should[0].range.gt
    2020.0
    """
    return models.Filter(must=[_translated(parse_filter(where).root)])


def _translated(node: Node) -> models.Filter:
    match node:
        case Joined("and", parts):
            return models.Filter(must=[_translated(part) for part in parts])
        case Joined(_, parts):
            return models.Filter(should=[_translated(part) for part in parts])
        case Missing(name, negated):
            empty = _empty(name)
            return models.Filter(must_not=[empty]) if negated else models.Filter(must=[empty])
        case Comparison(name, _, _, values, negated):
            holds = models.Filter(should=[_compared(node, value) for value in values])
            # A document without the field matches neither a comparison nor its negation.
            return models.Filter(must_not=[holds, _empty(name)]) if negated else holds


def _compared(node: Comparison, value: Value) -> models.FieldCondition:
    key, equal = _key(node.name), node.operator in ("=", "IN")
    if node.kind == "number" and not isinstance(value, str):
        if abs(value) > LARGEST:
            raise InputError(
                f"Qdrant compares numbers up to 2^53, so it cannot compare {short(node.name)} with {value}; search the "
                "index with Searcher"
            )
        bounds = {"gte": value, "lte": value} if equal else {RANGES[node.operator]: value}
        return models.FieldCondition(key=key, range=models.Range(**bounds))
    if not equal:
        raise InputError(
            "Qdrant compares strings and booleans for equality only, so it cannot evaluate "
            f"{short(node.name)} {node.operator} {short(str(value))!r}; use =, != or in, or search the index with "
            "Searcher"
        )
    exact = models.MatchValue(value=bool(value) if node.kind == "boolean" else str(value))
    return models.FieldCondition(key=key, match=exact)


def _empty(name: str) -> models.IsEmptyCondition:
    return models.IsEmptyCondition(is_empty=models.PayloadField(key=_key(name)))


def _key(name: str) -> str:
    """The path of a field, whose name may contain dots."""
    if '"' in name:
        raise InputError(f"Qdrant cannot filter by a field with a quote in its name, such as {short(name)}; rename it")
    return f'{FIELDS}."{name}"'
