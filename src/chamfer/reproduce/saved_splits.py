"""Train, validation and test queries of a dataset, saved with a run so that it can be repeated."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chamfer.data.collection import Collection
from chamfer.data.judgements import DEV, TEST, TRAIN, Judgements
from chamfer.data.queries import words_of
from chamfer.errors import InputError
from chamfer.learn.splits import sample, split_queries
from chamfer.support.files import write_json

Role = Literal["train", "validation", "test"]
ROLES: tuple[Role, ...] = ("train", "validation", "test")


@dataclass(frozen=True)
class QuerySplits:
    """Ids of the queries of each role, and the split of the collection that has their judgements."""

    queries: Mapping[str, Sequence[str]]
    judged_in: Mapping[str, str]

    def texts(self, collection: Collection, role: Role) -> dict[str, str]:
        """Texts of the queries of a role."""
        return {query: collection.queries[query] for query in self.queries[role]}

    def judgements(self, collection: Collection, role: Role) -> Judgements:
        """Judgements for the queries of a role."""
        judged = collection.judgements[self.judged_in[role]]
        return {query: judged[query] for query in self.queries[role]}


def draw_splits(collection: Collection, *, most: int, seed: int) -> QuerySplits:
    """Use the collection's train and dev splits, or divide its test queries; draw at most ``most`` to learn from.

    Some collections have the same query text under several ids. Such queries never end up in two roles.
    """
    measured = _alike(collection, collection.judged_queries(TEST))
    taken = set(measured)
    given: dict[str, list[list[str]]] = {}
    for name in (TRAIN, DEV):
        if name in collection.judgements:
            own = _alike(collection, collection.judged_queries(name))
            new = [own[text] for text in own if text not in taken]
            taken |= set(own)
            if new:
                given[name] = new
    splits = split_queries({**given, TEST: list(measured.values())}, seed=seed)
    source = next((name for name in (TRAIN, DEV) if name in given), TEST)
    return QuerySplits(
        {
            "train": _drawn(splits.train, most, seed),
            "validation": _drawn(splits.validation, most, seed),
            "test": [query for group in splits.test for query in group],
        },
        {"train": source, "validation": DEV if len(given) == 2 else source, "test": TEST},
    )


def load_splits(path: Path, collection: Collection, *, most: int, seed: int) -> QuerySplits:
    """Read splits from a file, or draw them and write the file."""
    if not path.exists():
        splits = draw_splits(collection, most=most, seed=seed)
        write_json(path, {"seed": seed, "judged_in": splits.judged_in, "queries": splits.queries})
        return splits
    try:
        saved = json.loads(path.read_bytes())
        queries: dict[str, list[str]] = {role: saved["queries"][role] for role in ROLES}
        judged_in: dict[str, str] = {role: saved["judged_in"][role] for role in ROLES}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} does not hold splits; delete it to draw them again") from error
    for role in ROLES:
        judged = collection.judgements.get(judged_in[role], {})
        unknown = next((query for query in queries[role] if query not in judged), None)
        if unknown is not None:
            raise InputError(
                f"{path} names query {unknown!r}, for which {collection.name} has no judgements; delete the file if it "
                "belongs to another collection"
            )
    tested = {words_of(collection.queries[query]) for query in queries[TEST]}
    for query in (*queries["train"], *queries["validation"]):
        if words_of(collection.queries[query]) in tested:
            raise InputError(
                f"{path} learns from query {query!r}, which has the words of a test query; delete it to draw them again"
            )
    return QuerySplits(queries, judged_in)


def _alike(collection: Collection, queries: Iterable[str]) -> dict[str, list[str]]:
    """Ids of queries with the same words, by these words."""
    groups: dict[str, list[str]] = {}
    for query in queries:
        groups.setdefault(words_of(collection.queries[query]), []).append(query)
    return groups


def _drawn(groups: Sequence[Sequence[str]], most: int, seed: int) -> list[str]:
    chosen = sample(dict(enumerate(groups)), most, seed=seed)
    return [query for group in chosen.values() for query in group][:most]
