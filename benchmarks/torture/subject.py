"""The index that attacks work on, and every question that is asked of it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import faiss
import numpy as np
from tests.index_model import DIMENSIONS, VOCABULARY, Model, Operation, addition, written
from tests.vectors import unit

from chamfer.errors import InputError
from chamfer.index.settings import PRECISIONS, Precision
from chamfer.index.snapshot import Snapshot
from chamfer.retrieve.ranker import Ranker
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import stage_names
from chamfer.tokens.batch import TokenBatch

# For each first stage and query, the ids of the best documents and their scores.
Answers = dict[str, list[tuple[tuple[str, ...], tuple[float, ...]]]]

PRECISIONS_IN_TURN: tuple[Precision, ...] = ("float16", "int8", "4bit", "2bit")
assert set(PRECISIONS_IN_TURN) == set(PRECISIONS)

# Documents of :func:`make` that are added, and deleted before it ends.
DELETED = ("d1", "d3", "d20")


def make(folder: Path, precision: Precision, *, seed: int = 0) -> Model:
    """A small index of three segments, one with deleted documents; returns what it holds."""
    generator = np.random.default_rng(seed)
    ids = [f"d{number}" for number in range(30)]
    steps = [
        addition(generator, ids[:12]),
        addition(generator, ids[12:22]),
        Operation("delete", ids=DELETED),
        addition(generator, ids[22:]),
    ]
    return written(folder, precision, steps)


def queries(seed: int = 0) -> Queries:
    """Three queries, as an encoder and weights would give them."""
    generator = np.random.default_rng([seed, 1])
    vectors = [unit(generator, length, DIMENSIONS).astype(np.float32) for length in (3, 5, 2)]
    ids = [generator.integers(0, VOCABULARY, len(one), np.int32) for one in vectors]
    weights = generator.uniform(0.1, 2, sum(map(len, vectors))).astype(np.float32)
    return Queries(["text 0", "text 1 ü", "2 text"], TokenBatch.pack(vectors, ids), weights)


def answers(index: Snapshot, asked: Queries, *, k: int = 8, stages: Sequence[str] = ()) -> Answers:
    """The top k of some first stages, by default all, of which all but one read derived files."""
    faiss.omp_set_num_threads(1)  # several threads wait for each other where other processes use the cores
    ranker = Ranker(index, first_stage="exhaustive")
    found: Answers = {}
    for stage in stages or stage_names():
        ranked = ranker.rank(asked, k, first_stage=stage)
        found[stage] = [(tuple(index.ids(one.places)), tuple(one.scores.tolist())) for one in ranked]
    return found


def refusal(attempt: Callable[[], object]) -> str | None:
    """The project's own error about an attempt, or None; any other exception goes on."""
    try:
        attempt()
    except InputError as error:
        return str(error)
    return None
