"""Which judged queries are for training, validation and testing; no query has two of these roles."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from chamfer.data.collection import Collection
from chamfer.data.judgements import DEV, TEST, TRAIN
from chamfer.errors import InputError
from chamfer.support.strings import list_of_strings

FOLDS = 3
"""Folds of the cross-validation unless another number is given."""

Labels = npt.NDArray[np.int64]
"""``(queries,)``: the number of each query's group."""

K = TypeVar("K")
T = TypeVar("T")


class Splits(NamedTuple, Generic[T]):
    """Judged queries, or their ids, for training, validation and testing."""

    train: Sequence[T]
    validation: Sequence[T]
    test: Sequence[T]


def splits_to_learn_from(
    collection: Collection,
    splits: Sequence[str] = (),
    *,
    validation: str | None = None,
    test: str | None = None,
    hold_out: float = 0.0,
) -> list[str]:
    """Check that the roles of splits do not overlap, and return those to learn from: ``train`` and ``dev`` by default.

    Args:
        collection: collection with judgements.
        splits: splits to learn from.
        validation: split to choose on.
        test: split to test on.
        hold_out: share of the queries to hold out for testing.
    """
    splits = list_of_strings(splits, "splits")
    if not collection.judgements:
        raise InputError(f"{collection.name} has no judgements to learn from; give a file of judgements (--qrels FILE)")
    if test is not None and hold_out:
        raise InputError("give either a test split (--test) or hold_out (--hold-out), not both")
    others = [name for name in (validation, test) if name is not None]
    chosen = list(dict.fromkeys(splits)) or [
        name for name in (TRAIN, DEV) if name in collection.judgements and name not in others
    ]
    if not chosen:
        raise InputError(
            f"{collection.name} has no train or dev split to learn from; learn from part of another split and measure "
            "on the rest, as in: --qrels test --hold-out 0.5"
        )
    if validation is not None and validation == test:
        raise InputError(f"{test!r} cannot be both the validation and the test split; give another one")
    for name, use in ((validation, "validation"), (test, "test")):
        if name in chosen:
            raise InputError(
                f"{name!r} cannot be both a split to learn from and the {use} split; give another one, or hold out "
                "some of its queries, as in: --hold-out 0.3"
            )
    split_of: dict[str, str] = {}
    for name in (*chosen, *others):
        for query in collection.judged_queries(name):
            if split_of.setdefault(query, name) != name:
                raise InputError(
                    f"query {query!r} is judged in {split_of[query]!r} and in {name!r}, but a query may belong to only "
                    "one of training, validation and test; remove it from one of the two"
                )
    return chosen


def split_queries(
    judged: Mapping[str, Sequence[T]], *, seed: int = 0, grouped: Callable[[Sequence[T]], Labels] | None = None
) -> Splits[T]:
    """Return train, validation and test queries of a collection, by the paper's rule.

    Given splits are used where they exist. If only one of ``train`` and ``dev`` exists, a fifth of it is for
    validation. If there is only ``test``, it is divided: 35% train, 15% validation, 50% test.

    Args:
        judged: queries of each split of the collection, at least of ``test``.
        seed: random seed of the divisions.
        grouped: returns the group of each query; a group is never divided.
    """
    if TEST not in judged:
        raise InputError(f"there is no test split to measure on, only {', '.join(judged) or 'none'}")

    def parts(queries: Sequence[T], share: float) -> tuple[list[T], list[T]]:
        return divide(queries, share, seed=seed, groups=None if grouped is None else grouped(queries))

    if TRAIN in judged and DEV in judged:
        return Splits(judged[TRAIN], judged[DEV], judged[TEST])
    for name in (TRAIN, DEV):
        if name in judged:
            return Splits(*parts(judged[name], 0.2), judged[TEST])
    learnt, test = parts(judged[TEST], 0.5)
    return Splits(*parts(learnt, 0.3), test)


def divide(
    queries: Sequence[T], share: float, *, seed: int = 0, groups: Labels | None = None
) -> tuple[list[T], list[T]]:
    """Divide queries at random into the rest and a ``share`` that is held out; both keep their order.

    Args:
        queries: queries to divide.
        share: share to hold out; with groups, at most this share.
        seed: random seed.
        groups: group of each query; a group is never divided. Every query is its own group by default.

    >>> divide(["a", "b", "c", "d"], 0.5)
    (['b', 'd'], ['a', 'c'])
    """
    labels = np.arange(len(queries)) if groups is None else groups
    held = round(len(queries) * share)
    sizes, taken, chosen = np.bincount(labels), 0, []
    for label in np.random.default_rng(seed).permutation(len(sizes)):
        if taken + sizes[label] <= held:
            taken += sizes[label]
            chosen.append(label)
    if not 0 < taken < len(queries):
        raise InputError(
            f"holding out {share:.0%} of {len(queries)} judged queries leaves one part empty; judge more queries, or "
            "hold out another share"
        )
    out = np.isin(labels, chosen)
    rest = [query for query, is_out in zip(queries, out, strict=True) if not is_out]
    return rest, [query for query, is_out in zip(queries, out, strict=True) if is_out]


def spread(groups: Labels, parts: int, *, seed: int = 0) -> Labels:
    """Return the part of each query: groups are whole, and parts are as equal in size as they can be.

    >>> spread(np.array([0, 0, 1, 2]), 2).tolist()
    [0, 0, 1, 1]
    """
    sizes = np.bincount(groups)
    order = np.random.default_rng(seed).permutation(len(sizes))
    part_of, filled = np.zeros(len(sizes), np.int64), np.zeros(parts, np.int64)
    for label in order[np.argsort(-sizes[order], kind="stable")]:  # the largest first
        part_of[label] = filled.argmin()
        filled[part_of[label]] += sizes[label]
    return part_of[groups]


def sample(queries: Mapping[K, T], count: int | None, *, seed: int = 0) -> dict[K, T]:
    """Return at most ``count`` of some queries, drawn at random, in their order; all if ``count`` is None."""
    if count is None or count >= len(queries):
        return dict(queries)
    drawn = np.random.default_rng(seed).permutation(len(queries))[:count]
    names = list(queries)
    return {names[place]: queries[names[place]] for place in sorted(drawn)}
