"""How many test queries resemble a query that may be learnt from: words in common, not a document.

Writes ``results/similar-queries.json``.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from chamfer.data.collection import Collection, load_collection
from chamfer.data.judgements import TEST
from chamfer.data.queries import words_of
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json
from corpora import collections

RESULT = Path(__file__).parent / "results" / "similar-queries.json"

# Jaccard overlap of two queries' words.
LEVELS = (0.6, 0.8)


def main() -> None:
    """Compare the queries of every collection, which must have splits to learn from."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    arguments = parser.parse_args()
    found = {folder.name: similar(load_collection(folder, allow_empty=True)) for folder in collections(arguments.data)}
    write_json(RESULT, {"environment": environment(), "collections": found})
    print(found)


def similar(collection: Collection) -> dict[str, Any]:
    """The share of test queries that resemble one of another split, by level."""
    tested = collection.judged_queries(TEST).values()
    learnt = [
        text for name in collection.judgements if name != TEST for text in collection.judged_queries(name).values()
    ]
    closest = [*closest_overlaps(tested, learnt)]
    shares = {str(level): sum(one >= level for one in closest) / len(closest) for level in LEVELS}
    return {"queries": len(closest), "learnt_from": len(learnt), "shares": shares}


def closest_overlaps(texts: Iterable[str], others: Iterable[str]) -> Iterator[float]:
    """For each text, the largest share of words that it has in common with one of the others.

    >>> list(closest_overlaps(["list all files"], ["count all files", "delete a user"]))
    [0.5]
    """
    known = [frozenset(words_of(text).split()) for text in others]
    holding: dict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(known):
        for word in words:
            holding[word].append(place)
    for text in texts:
        own = frozenset(words_of(text).split())
        places = {place for word in own for place in holding[word]}
        yield max((len(own & known[place]) / len(own | known[place]) for place in places), default=0.0)


if __name__ == "__main__":
    main()
