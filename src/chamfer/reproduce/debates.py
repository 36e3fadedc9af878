"""ArguAna's debates: arguments of one debate are for and against the same claim."""

import re
from dataclasses import replace

from chamfer.data.collection import Collection
from chamfer.evaluate.groups import DOCUMENT

ARGUANA = "arguana"
DEBATE = "debate"
"""Name of the field."""


def grouped_by(collection: Collection) -> str:
    """What keeps the queries of a collection together: ArguAna's debates, elsewhere relevant documents."""
    return DEBATE if collection.name == ARGUANA else DOCUMENT


def with_debates(collection: Collection) -> Collection:
    """Return ArguAna with a field ``debate`` for each query, from its id; any other collection as it is.

    >>> query = "test-economy-bepiehbesa-pro01a"
    >>> arguana = Collection("arguana", documents={}, queries={query: "Taxes are fair."}, judgements={})
    >>> with_debates(arguana).query_fields
    {'test-economy-bepiehbesa-pro01a': {'debate': 'test-economy-bepiehbesa'}}
    """
    if collection.name != ARGUANA:
        return collection
    fields = {query: dict(own) for query, own in collection.query_fields.items()}
    for query in collection.queries:
        found = re.match(r"(.+)-(pro|con)\d+[ab]$", query)
        if found:
            fields.setdefault(query, {})[DEBATE] = found[1]
    return replace(collection, query_fields=fields)
