"""What collections are learnt from and tested on: the same test queries with every seed."""

from itertools import compress
from pathlib import Path
from typing import NamedTuple

from campaign import Skipped
from chamfer.data.collection import load_collection
from chamfer.data.judgements import TEST, TRAIN
from chamfer.encode.settings import MINILM
from chamfer.evaluate.collection_means import FEWEST
from chamfer.evaluate.groups import DOCUMENT, TEXT, are_new, group
from chamfer.evaluate.setup import Setup
from chamfer.learn.judged import JudgedQuery, teachable
from chamfer.learn.on_collection import judge_splits
from chamfer.learn.splits import Splits, divide, sample, split_queries
from chamfer.reproduce.debates import grouped_by, with_debates
from corpora import encoder_for

# Queries to learn from of each collection, where something is chosen on them.
MOST_CHOSEN_ON = 150
# Queries of each split of the largest collections, drawn at random.
MOST = dict.fromkeys(("nfcorpus", "boolq", "medquad", "acl-titles", "nl2bash"), 700)


class Opened(NamedTuple):
    """A judged collection with its encoder."""

    setup: Setup
    group_by: str
    """What keeps its queries together."""


def open_collection(folder: Path, cache: Path, encoder: str = MINILM) -> Opened:
    """Open a collection and its encoder."""
    collection = with_debates(load_collection(folder, allow_empty=True))
    return Opened(Setup(collection, encoder_for(folder, encoder), cache), grouped_by(collection))


def read_splits(setup: Setup, group_by: str, seed: int) -> tuple[Splits[JudgedQuery], int]:
    """The splits for a seed, without training and validation queries that are tested in the same words; their number.

    What is tested never changes with the seed, so that no seed tests what another has learnt from. Where there is
    only a test split, half of it is tested: drawn at random, as in the paper, or by the field that the collection's
    queries are grouped by.
    """
    collection, most = setup.collection, MOST.get(setup.collection.name)
    roles = [name for name in collection.judgements if name != TEST]
    tested = judge_splits(setup, [TEST], max_queries=most, group_by=group_by)[TEST]
    if roles:
        judged = judge_splits(setup, roles, max_queries=most, group_by=group_by, seed=seed)
    else:
        by = TEXT if group_by == DOCUMENT else group_by
        rest, tested = divide(tested, 0.5, groups=group(tested, by).labels)
        judged = {TRAIN: rest}
    splits = split_queries({**judged, TEST: tested}, seed=seed, grouped=lambda queries: group(queries, group_by).labels)
    validation = list(compress(splits.validation, are_new(splits.validation, splits.test)))
    train = list(compress(splits.train, are_new(splits.train, [*validation, *splits.test])))
    repeated = len(splits.train) + len(splits.validation) - len(train) - len(validation)
    return Splits(teachable(train)[0], teachable(validation)[0], splits.test), repeated


def read_chosen_on(opened: Opened) -> list[JudgedQuery]:
    """Queries to learn from that something is chosen on, drawn at random; never a test query."""
    splits, _ = read_splits(*opened, 0)
    known = {query.query_id: query for query in (*splits.train, *splits.validation)}
    if len(known) < FEWEST:
        raise Skipped(f"fewer than {FEWEST} queries to learn from")
    return list(sample(known, MOST_CHOSEN_ON).values())
