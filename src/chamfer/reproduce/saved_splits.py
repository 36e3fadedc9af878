"""Train, validation and test queries of a dataset, saved with a run so that it can be repeated."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

from chamfer.data.collection import Collection
from chamfer.data.judgements import DEV, TEST, TRAIN, Judgements
from chamfer.data.queries import words_of
from chamfer.errors import InputError
from chamfer.evaluate.groups import Ties
from chamfer.learn.splits import sample, split_queries
from chamfer.reproduce.debates import DEBATE, with_debates
from chamfer.reproduce.paper import MOST_QUERIES
from chamfer.support.files import write_json

Role = Literal["train", "validation", "test"]
ROLES: tuple[Role, ...] = ("train", "validation", "test")


class TiedQuery(NamedTuple):
    """A query, and what it may have in common with others."""

    query_id: str
    ties: Ties


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

    def tied(self, collection: Collection, role: Role) -> list[TiedQuery]:
        """Queries of a role with their words, relevant documents and, on ArguAna, debates."""
        fields, judged = with_debates(collection).query_fields, self.judgements(collection, role)
        return [
            TiedQuery(query, Ties.of(text, judged[query], fields.get(query, {}).get(DEBATE)))
            for query, text in self.texts(collection, role).items()
        ]


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
    """Read splits from a file, or draw them and write the file.

    A file that was drawn with another seed or maximum is refused.
    """
    if not path.exists():
        splits = draw_splits(collection, most=most, seed=seed)
        write_json(path, {"seed": seed, "most": most, "judged_in": splits.judged_in, "queries": splits.queries})
        return splits
    try:
        saved = json.loads(path.read_bytes())
        queries: dict[str, list[str]] = {role: saved["queries"][role] for role in ROLES}
        judged_in: dict[str, str] = {role: saved["judged_in"][role] for role in ROLES}
        # Files of earlier versions have no maximum.
        own_seed, own_most = saved.get("seed", 0), saved.get("most", MOST_QUERIES)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} does not hold splits; delete it to draw them again") from error
    if (own_seed, own_most) != (seed, most):
        raise InputError(
            f"{path} was drawn with seed {own_seed} and at most {own_most} queries, not with seed {seed} and at most "
            f"{most}; give --seed {own_seed} --max-queries {own_most}, or delete it to draw them again"
        )
    for role in ROLES:
        judged = collection.judgements.get(judged_in[role], {})
        unknown = next((query for query in queries[role] if query not in judged), None)
        if unknown is not None:
            raise InputError(
                f"{path} names query {unknown!r}, for which {collection.name} has no judgements; delete the file if it "
                "belongs to another collection"
            )
    for role, other in combinations(ROLES, 2):
        taken = set(_alike(collection, queries[other]))
        shared = next((query for query in queries[role] if words_of(collection.queries[query]) in taken), None)
        if shared is not None:
            raise InputError(
                f"{path} has query {shared!r} for {role}, which has the words of a {other} query; delete it to draw "
                "them again"
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
