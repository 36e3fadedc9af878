"""The documents that pass a filter: one SQL query for each distinct comparison, combined as masks.

SQL could combine them itself, but its INTERSECT and UNION sort the places of every comparison: 4 to 9 times slower.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from chamfer.index.fields import Value
from chamfer.index.filters import Comparison, Joined, Missing, Node

Mask = npt.NDArray[np.bool_]
Holds = Callable[[str, Sequence[Value]], Mask]
"""Takes a condition on ``fields(name, kind, value, place)`` and the values to bind; returns a mask of places."""


def passing(node: Node, holds: Holds) -> Mask:
    """``(places,)`` whether each document passes a filter.

    Args:
        node: root of the filter.
        holds: evaluates a condition in SQL; asked once for each distinct one.
    """
    known: dict[tuple[str, tuple[Value, ...]], tuple[int, npt.NDArray[np.uint8]]] = {}

    def once(condition: str, *values: Value) -> Mask:
        if (condition, values) not in known:
            mask = holds(condition, values)
            known[condition, values] = len(mask), np.packbits(mask)  # a bit per document: there may be hundreds
        count, bits = known[condition, values]
        return np.unpackbits(bits, count=count).view(np.bool_)

    def mask_of(node: Node) -> Mask:
        match node:
            case Joined(by, parts):
                combine = np.logical_and if by == "and" else np.logical_or
                mask = mask_of(parts[0])
                for part in parts[1:]:
                    combine(mask, mask_of(part), out=mask)
                return mask
            case Missing(name, negated):
                present = once("name = ?", name)
                return present if negated else ~present
            case Comparison(name, kind, operator, operands, negated):
                marks = ", ".join("?" * len(operands))
                found = once(f"name = ? AND kind = ? AND value {operator} ({marks})", name, kind, *operands)
                return once("name = ?", name) & ~found if negated else found

    return mask_of(node)
