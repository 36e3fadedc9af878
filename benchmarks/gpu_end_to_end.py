"""Time encoding, building, searching and learning on scifact, on the device named by CHAMFER_DEVICE."""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from chamfer import Encoder, Searcher, build_index
from chamfer.data.collection import load_collection
from chamfer.index.snapshot import Snapshot
from chamfer.learn.learning import learn
from chamfer.retrieve.stages import chosen_name

DOCUMENT_LENGTH = 256
K = 100


def main() -> None:
    """Print JSON."""
    data, name = Path(sys.argv[1]), sys.argv[2]
    collection = load_collection(data / "scifact")
    encoder = Encoder.load(name, document_length=DOCUMENT_LENGTH, arithmetic="auto")
    encoder.encode_documents(["what is compiled at first use is compiled now"] * 300)
    queries = list(collection.judged_queries("test").values())
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock(seconds)
        encoder.encode_documents(list(collection.documents.values()))
        clock.tell("encode all documents")
        build_index(Path(folder) / "index", collection.documents, encoder)
        clock.tell("build an index, encoding included")
        searcher = Searcher.open(Path(folder) / "index", encoder=encoder)
        searcher.search(queries[:1], k=K)
        clock.tell("open it")
        searcher.search(queries, k=K)
        clock.tell("search all test queries, encoding included")
        ready = searcher.queries.weigh(encoder.encode_queries(queries), queries)
        clock.tell("encode all test queries")
        found = searcher.rank(ready, K, first_stage="exhaustive")
        clock.tell("rank all documents for all test queries")
        same = None
        if encoder.scoring_device != "cpu":
            elsewhere = Searcher(Snapshot.open(Path(folder) / "index"), encoder)
            other = elsewhere.rank(ready, K, first_stage="exhaustive")
            same = sum(np.array_equal(a.places[:10], b.places[:10]) for a, b in zip(found, other, strict=True))
        clock = Clock(seconds)
        learnt = learn(collection, encoder=encoder, cache=Path(folder) / "cache", splits=["train"], test="test")
        clock.tell("learn weights, encoding included")
        stage = chosen_name("auto", searcher.index)
    result: dict[str, Any] = {
        "device": encoder.device,
        "scoring": encoder.scoring_device,
        "arithmetic": encoder.arithmetic,
        "documents": len(collection.documents),
        "queries": len(queries),
        "first_stage": stage,
        "seconds": seconds,
        "same_best_10_as_a_processor": same,
        "held_out": learnt.held_out and learnt.held_out.as_json(),
    }
    print(json.dumps(result))


class Clock:
    """A stopwatch for the steps."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds, self._started = seconds, time.perf_counter()

    def tell(self, what: str) -> None:
        """Record the time since the previous step."""
        now = time.perf_counter()
        self._seconds[what] = round(now - self._started, 3)
        self._started = now
        print(f"{what}: {self._seconds[what]} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
