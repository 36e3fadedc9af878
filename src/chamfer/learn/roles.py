"""Which judged queries are learnt from, chosen on and measured on; no query has two roles."""

from collections.abc import Sequence

from chamfer.data.collection import Collection
from chamfer.errors import InputError


def splits_to_learn_from(
    collection: Collection,
    splits: Sequence[str] = (),
    *,
    validation: str | None = None,
    test: str | None = None,
    hold_out: float = 0.0,
) -> list[str]:
    """The splits to learn from, ``train`` and ``dev`` if none is named, once all is known to fit together."""
    if isinstance(splits, str):
        raise InputError(f"give a list of splits, [{splits!r}], not one name")
    if not collection.judgements:
        raise InputError(f"{collection.name} has no judgements to learn from; name a file with some (--qrels FILE)")
    if test is not None and hold_out:
        raise InputError("weights are measured on another split or on held-out queries, not on both; drop one of them")
    others = [name for name in (validation, test) if name is not None]
    chosen = list(dict.fromkeys(splits)) or [
        name for name in ("train", "dev") if name in collection.judgements and name not in others
    ]
    if not chosen:
        raise InputError(
            f"{collection.name} has no split train or dev to learn from; learn from part of another one and measure "
            "on the rest, as in: --qrels test --hold-out 0.5"
        )
    if validation is not None and validation == test:
        raise InputError(f"weights cannot be chosen and measured on the same split, {test!r}; name another one")
    for name, use in ((validation, "chosen"), (test, "measured")):
        if name in chosen:
            raise InputError(
                f"weights cannot be learnt from and {use} on the same split, {name!r}; name another one, or hold "
                "some of its queries out, as in: --hold-out 0.3"
            )
    split_of: dict[str, str] = {}
    for name in (*chosen, *others):
        for query in collection.judged_queries(name):
            if split_of.setdefault(query, name) != name:
                raise InputError(
                    f"query {query!r} is judged in {split_of[query]!r} and in {name!r}; a query can be learnt from, "
                    "chosen on or measured on, only one of these"
                )
    return chosen
