"""Who is learnt from, who is chosen on, who is measured: the paper's splits of judged queries, seeded."""

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from chamfer.errors import InputError

T = TypeVar("T")


class Splits(NamedTuple, Generic[T]):
    """Judged queries, or their ids, to learn from, to choose on and to measure on."""

    train: Sequence[T]
    validation: Sequence[T]
    test: Sequence[T]


def split_queries(judged: Mapping[str, Sequence[T]], *, seed: int = 0) -> Splits[T]:
    """Give train, validation and test queries of a collection that has at least a split ``test``.

    Given splits are used where they exist. Where only one of ``train`` and ``dev`` does, a fifth of it is for
    validation. Where there is only ``test``, its queries are divided: 35 % train, 15 % validation, 50 % test.
    """
    if "test" not in judged:
        raise InputError(f"there is no split test to measure on, only {', '.join(judged) or 'none'}")
    if "train" in judged and "dev" in judged:
        return Splits(judged["train"], judged["dev"], judged["test"])
    for name in ("train", "dev"):
        if name in judged:
            return Splits(*divide(judged[name], 0.2, seed=seed), judged["test"])
    learnt, test = divide(judged["test"], 0.5, seed=seed)
    return Splits(*divide(learnt, 0.3, seed=seed), test)


def divide(queries: Sequence[T], share: float, *, seed: int = 0) -> tuple[list[T], list[T]]:
    """Divide at random: the rest first, then ``share`` of the queries; both keep their order.

    >>> divide(["a", "b", "c", "d"], 0.5)
    (['b', 'd'], ['a', 'c'])
    """
    held = round(len(queries) * share)
    if not 0 < held < len(queries):
        raise InputError(
            f"of {len(queries)} judged queries, {share:.0%} cannot be held out: neither part may be empty; judge more, "
            "or hold out another share"
        )
    chosen = np.zeros(len(queries), np.bool_)
    chosen[np.random.default_rng(seed).permutation(len(queries))[:held]] = True
    rest = [query for query, out in zip(queries, chosen, strict=True) if not out]
    return rest, [query for query, out in zip(queries, chosen, strict=True) if out]
