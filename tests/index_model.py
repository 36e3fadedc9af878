"""A plain dictionary beside an index on disk, random operations on both, and ways to stop one in the middle."""

import io
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chamfer.data.documents import Document
from chamfer.index.columns import DISTINCT_FILE
from chamfer.index.manifest import read_manifest
from chamfer.index.settings import Precision, Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.verify import verify
from chamfer.index.writing import Writer, writing
from chamfer.kernels.codes import Codes
from chamfer.tokens.batch import TokenBatch, TokenIds
from chamfer.weights.frequencies import DocumentFrequencies
from tests.vectors import Floats, unit

DIMENSIONS, VOCABULARY = 8, 40


class Kept(NamedTuple):
    """A document as it must come back, to the byte."""

    document: Document
    distinct: tuple[int, ...]
    token_ids: tuple[int, ...]
    vectors: bytes


Model = dict[str, Kept]


class Operation(NamedTuple):
    name: str  # add, replace, delete or compact
    documents: Sequence[Document] = ()
    tokens: TokenBatch = TokenBatch.empty(DIMENSIONS)
    distinct: Sequence[TokenIds] = ()
    ids: Sequence[str] = ()

    def perform(self, writer: Writer) -> None:
        if self.name == "delete":
            writer.delete(self.ids)
        elif self.name == "compact":
            writer.compact()
        else:
            writer.add(self.documents, self.tokens, self.distinct, replacing=self.name == "replace")

    def after(self, model: Model, precision: Precision) -> Model:
        """What the operation makes of a model."""
        kept = {key: value for key, value in model.items() if key not in self.ids}
        vectors = self.tokens.vectors.astype(np.float16)
        if precision == "int8":
            batch = TokenBatch(vectors, self.tokens.token_ids, self.tokens.offsets)
            vectors = Codes.of(batch).vectors(DIMENSIONS)
        for place, document in enumerate(self.documents):
            rows = slice(self.tokens.offsets[place], self.tokens.offsets[place + 1])
            token_ids = tuple(self.tokens.token_ids[rows].tolist())
            distinct = tuple(self.distinct[place].tolist())
            kept[document.id] = Kept(document, distinct, token_ids, vectors[rows].tobytes())
        return kept


def settings_of(precision: Precision) -> Settings:
    return Settings(DIMENSIONS, VOCABULARY, precision)


def addition(generator: np.random.Generator, ids: list[str], *, name: str = "add") -> Operation:
    """Documents of random tokens; some have none, some are copies of each other."""
    lengths = generator.integers(0, 7, len(ids))
    texts: list[tuple[Floats, TokenIds]] = []
    for place, length in enumerate(lengths):
        if place and generator.random() < 0.2:
            texts.append(texts[int(generator.integers(place))])
        else:
            texts.append((unit(generator, length, DIMENSIONS), generator.integers(0, VOCABULARY, length, np.int32)))
    tokens = TokenBatch.pack([vectors.astype(np.float16) for vectors, _ in texts], [ids for _, ids in texts])
    distinct = [np.unique([*ids, generator.integers(VOCABULARY)]).astype(np.int32) for _, ids in texts]
    years = generator.integers(2000, 2005, len(ids)).tolist()
    documents = [
        Document(identifier, f"text {year % 3} ü", metadata={"year": year})
        for identifier, year in zip(ids, years, strict=True)
    ]
    return Operation(name, documents, tokens, distinct)


def written(folder: Path, precision: Precision, steps: Sequence[Operation]) -> Model:
    """Make an index by some operations; returns what it holds."""
    model: Model = {}
    with writing(folder, settings_of(precision)) as writer:
        for step in steps:
            step.perform(writer)
            model = step.after(model, precision)
    return model


def operation(generator: np.random.Generator, model: Model) -> Operation:
    """One that can follow what a model holds."""
    name = str(generator.choice(["add", "add", "replace", "delete", "compact"]))
    everything = [f"d{number}" for number in range(40)]
    if name == "add" and len(model) == len(everything):
        name = "delete"
    if name == "compact":
        return Operation(name)
    count = int(generator.integers(1, 8))
    if name == "delete":
        return Operation(name, ids=list(generator.choice(everything, count)))
    free = [identifier for identifier in everything if name == "replace" or identifier not in model]
    return addition(generator, list(generator.permutation(free)[:count]), name=name)


def read(folder: Path) -> Model:
    """All live documents of an index, after every check that it must stand."""
    manifest = read_manifest(folder)
    assert manifest is not None
    if manifest.trained is None:
        return {}
    assert verify(folder) == []
    return contents(Snapshot.open(folder))


def contents(index: Snapshot) -> Model:
    """All live documents of an opened index."""
    model: Model = {}
    for segment in index.segments:
        alive = segment.alive
        tokens, ids = segment.take(alive), segment.database.ids(alive)
        assert ids == sorted(ids)
        for place, document in enumerate(segment.database.documents(alive)):
            assert document.id == ids[place]
            assert document.id not in model
            own = tokens[place]
            rows = slice(*segment.source.offsets["distinct"][alive[place] : alive[place] + 2])
            distinct = tuple(segment.columns[DISTINCT_FILE][rows].tolist())
            model[document.id] = Kept(document, distinct, tuple(own.token_ids.tolist()), own.vectors.tobytes())
    counted = DocumentFrequencies.count([list(kept.distinct) for kept in model.values()], vocabulary_size=VOCABULARY)
    assert index.frequencies.documents == counted.documents == len(model)
    assert index.frequencies.counts.tolist() == counted.counts.tolist()
    return model


# What changes a folder, or opens what it holds.
STEPS = [
    *((os, name) for name in ("fsync", "replace", "rename", "mkdir", "unlink", "rmdir")),
    (io, "open"),
    (sqlite3, "connect"),
]


@contextmanager
def at_step(number: int, stop: Callable[[], None]) -> Iterator[list[str]]:
    """Call ``stop`` just before the step of that number; gives the names of the steps so far."""
    seen: list[str] = []
    originals = [getattr(module, name) for module, name in STEPS]

    def wrapped(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            seen.append(name)
            if len(seen) == number:
                stop()
            return original(*arguments, **named)

        return step

    try:
        for (module, name), original in zip(STEPS, originals, strict=True):
            setattr(module, name, wrapped(name, original))
        yield seen
    finally:
        for (module, name), original in zip(STEPS, originals, strict=True):
            setattr(module, name, original)
