"""An index that changes: what is in it, who may read meanwhile, and what it refuses."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chamfer import TokenBatch
from chamfer.data.corpus import documents_from
from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index import merging
from chamfer.index.encoded import build_encoded
from chamfer.index.filters import as_filter
from chamfer.index.manifest import SEGMENTS, Manifest, read_manifest, write_manifest
from chamfer.index.settings import PRECISIONS, Precision, Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.texts import check_storable
from chamfer.index.verify import verify
from chamfer.index.writing import Writer, writing
from chamfer.retrieve.bm25 import BM25Stage
from chamfer.retrieve.exhaustive import Exhaustive
from chamfer.retrieve.stage import Queries
from chamfer.weights.frequencies import DocumentFrequencies
from tests.index_model import DIMENSIONS, VOCABULARY, Model, addition, contents, operation, read, settings_of
from tests.vectors import unit

EXACT: list[Precision] = ["float16", "int8"]


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power fails while tests run, and waiting for the disk would take most of their time."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def batch(*lengths: int, seed: int = 0) -> TokenBatch:
    vectors = unit(np.random.default_rng(seed), sum(lengths), DIMENSIONS).astype(np.float32)
    cuts = np.cumsum(lengths)[:-1]
    return TokenBatch.pack(np.split(vectors, cuts), [list(range(length)) for length in lengths])


def queries() -> Queries:
    generator = np.random.default_rng(99)
    tokens = TokenBatch.pack([unit(generator, 4, DIMENSIONS).astype(np.float32) for _ in range(5)], [[0] * 4] * 5)
    return Queries(["text 1"] * 5, tokens, generator.random(20, np.float32))


def rankings(
    index: Snapshot, where: str | None = None, among: Iterable[str] | None = None
) -> list[list[tuple[str, float]]]:
    found = Exhaustive(index).find(queries(), 12, index.allowed(as_filter(where), among))
    return [list(zip(index.ids(one.places), one.scores.tolist(), strict=True)) for one in found]


# What is in it


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("precision", EXACT)
def test_an_index_holds_what_a_dictionary_would(
    tmp_path: Path, precision: Precision, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "FAN", 3)
    generator = np.random.default_rng(seed)
    model: Model = {}
    with writing(tmp_path, settings_of(precision)) as writer:
        for _ in range(25):
            step = operation(generator, model)
            step.perform(writer)
            model = step.after(model, precision)
            assert read(tmp_path) == model
            assert len(writer.manifest.segments) <= 9


def test_files_of_merged_segments_are_closed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each open database kept 2 MB, and the disk space of a removed file, until Python collected garbage."""
    monkeypatch.setattr(merging, "FAN", 3)
    gc.collect()
    gc.disable()
    try:
        with writing(tmp_path, settings_of("float16")) as writer:
            for number in range(9):
                writer.add([Document(str(number), "text")], batch(2))
            assert len(writer.manifest.segments) == 1
            opened = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
            assert not [path for path in opened if path.startswith(str(tmp_path.resolve())) and "(deleted)" in path]
    finally:
        gc.enable()


def test_a_part_of_a_merge_ends_by_the_size_of_its_own_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long documents follow each other if their ids are alike, and a mean over all documents knows nothing of that."""
    monkeypatch.setattr(merging, "TEXT_BYTES", 1000)
    with writing(tmp_path, settings_of("float16")) as writer:
        for part in ("a", "b"):
            long = [Document(f"long {n}{part}", "é" * 200, metadata={"n": "x" * 90}) for n in range(5)]
            short = [Document(f"short {n}{part}", "text") for n in range(20)]
            writer.add([*long, *short], batch(*[1] * 25))
    snapshot = Snapshot.open(tmp_path)
    merged = merging.merged_rows(snapshot.segments, snapshot.manifest.settings, None, None)
    sizes = [len(rows.documents) for rows in merged]
    assert sizes[:4] == [2, 2, 2, 2]
    assert sizes[-1] >= 20
    assert sum(sizes) == 50


@pytest.mark.parametrize("precision", EXACT)
def test_a_changed_index_ranks_like_a_fresh_one(tmp_path: Path, precision: Precision) -> None:
    generator = np.random.default_rng(5)
    model: Model = {}
    with writing(tmp_path / "changed", settings_of(precision)) as writer:
        for _ in range(20):
            step = operation(generator, model)
            step.perform(writer)
            model = step.after(model, precision)
        ids = sorted(model)[::2]
        writer.delete(ids)  # and add the same again
        writer.add(*_again(model, ids, precision))
    with writing(tmp_path / "fresh", settings_of(precision)) as writer:
        writer.add(*_again(model, list(model), precision))
    changed, fresh = Snapshot.open(tmp_path / "changed"), Snapshot.open(tmp_path / "fresh")
    assert len(changed.segments) > len(fresh.segments) == 1
    among = sorted(model)[:20]
    for choice in (
        {},
        {"where": "year > 2001"},
        {"among": [*among, "absent"]},
        {"where": "year = 2002", "among": among},
    ):
        assert rankings(changed, **choice) == rankings(fresh, **choice)
    with writing(tmp_path / "changed") as writer:
        writer.compact()
    assert rankings(Snapshot.open(tmp_path / "changed")) == rankings(fresh)
    assert contents(Snapshot.open(tmp_path / "changed")) == contents(fresh)


def _again(model: Model, ids: list[str], precision: Precision) -> tuple[list[Document], TokenBatch, list[Any]]:
    kept = [model[identifier] for identifier in ids]
    vectors = [np.frombuffer(one.vectors, np.float16).reshape(-1, DIMENSIONS) for one in kept]
    tokens = TokenBatch.pack(vectors, [list(one.token_ids) for one in kept])
    return [one.document for one in kept], tokens, [np.array(one.distinct, np.int32) for one in kept]


def test_equal_scores_are_ordered_by_id_across_segments(tmp_path: Path) -> None:
    tokens = batch(3)
    with writing(tmp_path, settings_of("float16")) as writer:
        for identifier in ("c", "a", "d", "b"):
            writer.add([Document(identifier, "same")], tokens)
    for one in rankings(Snapshot.open(tmp_path)):
        assert [identifier for identifier, _ in one] == ["a", "b", "c", "d"]


def test_filters_and_subsets_choose_live_documents(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    model: Model = {}
    with writing(tmp_path, settings_of("float16")) as writer:
        for _ in range(20):
            step = operation(generator, model)
            step.perform(writer)
            model = step.after(model, "float16")
    index = Snapshot.open(tmp_path)

    def chosen(where: str | None = None, among: Iterable[str] | None = None) -> list[str]:
        allowed = index.allowed(as_filter(where), among)
        assert allowed is not None
        return sorted(index.ids(np.flatnonzero(allowed)))

    late = {key for key, kept in model.items() if kept.document.metadata["year"] > 2001}
    some = ["d1", "d2", "d3", "d30", "absent"]
    assert chosen(where="year > 2001") == sorted(late)
    assert chosen(among=some) == sorted({*some} & {*model})
    assert chosen(among=iter(some), where="year > 2001") == sorted({*some} & late)
    assert chosen(among=[]) == []


@pytest.mark.parametrize("precision", PRECISIONS)
def test_documents_without_tokens_can_come_first_and_alone(tmp_path: Path, precision: Precision) -> None:
    with writing(tmp_path, settings_of(precision)) as writer:
        writer.add([Document("a", ""), Document("b", "")], batch(0, 0))
        assert verify(tmp_path) == []
        writer.add([Document("c", "x")], batch(30))
        writer.delete(["c"])
        writer.compact()
    index = Snapshot.open(tmp_path)
    assert [identifier for identifier, _ in rankings(index)[0]] == ["a", "b"]
    assert verify(tmp_path) == []


def test_an_index_can_lose_all_documents_and_get_others(tmp_path: Path) -> None:
    with writing(tmp_path, settings_of("float16")) as writer:
        writer.add([Document("a", "x")], batch(3))
        assert writer.delete(["a", "a", "b"]) == 1
        assert writer.delete(["a"]) == 0
        index = Snapshot.open(tmp_path)
        assert (len(index), rankings(index)) == (0, [[]] * 5)
        writer.compact()
        writer.add([Document("a", "y")], batch(3))
    assert verify(tmp_path) == []
    assert Snapshot.open(tmp_path).documents(np.array([0])) == [Document("a", "y")]


def test_frequencies_count_distinct_tokens_once_a_document(tmp_path: Path) -> None:
    with writing(tmp_path, settings_of("float16")) as writer:
        writer.add([Document("a", "x"), Document("b", "y")], batch(1, 1), [np.array([3, 3, 5], np.int32)] * 2)
        writer.add([Document("c", "z")], batch(2))
    counts = DocumentFrequencies.count([[3, 5], [3, 5], [0, 1]], vocabulary_size=VOCABULARY).counts
    assert Snapshot.open(tmp_path).frequencies.counts.tolist() == counts.tolist()


def test_what_is_not_of_the_index_is_never_swept(tmp_path: Path) -> None:
    others = [".pre-commit-config.yaml", "trained-by-me.txt", "segments/mine/notes", "derived/x/y", ".env-local"]
    for name in others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("keep")
    with writing(tmp_path, settings_of("float16")) as writer:
        writer.add([Document("a", "x")], batch(3))
        writer.delete(["a"])
    assert all((tmp_path / name).read_text() == "keep" for name in others)


# Readers


def test_a_reader_keeps_its_snapshot(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    with writing(tmp_path, settings_of("float16")) as writer:
        addition(generator, [f"d{number}" for number in range(20)]).perform(writer)
        reader = Snapshot.open(tmp_path)
        before, ranked = read(tmp_path), rankings(reader)
        model = before
        for _ in range(15):
            step = operation(generator, model)
            step.perform(writer)
            model = step.after(model, "float16")
            assert contents(reader) == before
            assert rankings(reader) == ranked
        writer.compact()
    assert not (tmp_path / SEGMENTS / reader.segments[0].name).exists()
    assert contents(reader) == before
    assert BM25Stage(reader).find(queries(), 5)[0].places.size == 5  # its files can still be made
    assert contents(Snapshot.open(tmp_path)) == model


WRITE = """
import sys, numpy as np
from pathlib import Path
from chamfer.index.writing import writing
from tests.index_model import addition
folder = Path(sys.argv[1])
with writing(folder) as writer:
    print("began", flush=True)
    for version in range(10_000):
        ids = [f"d{number}" for number in range(3)]
        step = addition(np.random.default_rng(version), ids, name="replace")
        step.perform(writer)
"""


@contextmanager
def another_writer(folder: Path) -> Iterator[None]:
    root = Path(__file__).parents[1]
    with subprocess.Popen([sys.executable, "-c", WRITE, str(folder)], stdout=subprocess.PIPE, cwd=root) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"began\n"
            yield
            assert process.poll() is None
        finally:
            process.kill()


def test_an_index_opens_while_another_process_commits(tmp_path: Path) -> None:
    with writing(tmp_path, settings_of("float16")) as writer:
        addition(np.random.default_rng(0), ["d0", "d1", "d2"]).perform(writer)
    versions = set()
    with another_writer(tmp_path):
        until = time.monotonic() + 2
        while time.monotonic() < until:
            index = Snapshot.open(tmp_path)
            assert sorted(contents(index)) == ["d0", "d1", "d2"]
            assert verify(tmp_path) == []
            versions.add(index.manifest.version)
    assert len(versions) > 3


def test_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    with writing(tmp_path / "index", settings_of("float16")) as writer:
        addition(np.random.default_rng(0), ["d0", "d1", "d2"]).perform(writer)
    mount = ["mount", "--bind", "-o", "ro", str(tmp_path / "index"), str(tmp_path / "index")]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        index = Snapshot.open(tmp_path / "index")
        assert len(contents(index)) == 3
        assert verify(tmp_path / "index") == []
        assert len(BM25Stage(index).find(queries(), 3)) == 5
        with pytest.raises(OSError, match="Read-only"), writing(tmp_path / "index"):
            pass
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path / "index")], check=True)


# What is refused


def added(writer: Writer, *documents: Document, tokens: TokenBatch | None = None, **named: Any) -> None:
    writer.add(documents, batch(*[2] * len(documents)) if tokens is None else tokens, **named)


REFUSED: dict[str, Callable[[Writer], object]] = {
    "added twice": lambda w: added(w, Document("n", ""), Document("m", ""), Document("n", "")),
    "'a' is in the index already": lambda w: added(w, Document("a", ""), Document("n", "")),
    "got vectors for 2 texts but 1 documents": lambda w: added(w, Document("n", ""), tokens=batch(1, 1)),
    "got 0 lists of distinct tokens for 1 documents": lambda w: added(w, Document("n", ""), distinct=[]),
    "vectors of 8 dimensions, not 3": lambda w: added(w, tokens=TokenBatch.empty(3)),
    "unit length, not 2": lambda w: added(w, Document("n", ""), tokens=scaled(2.0)),
    "unit length, not 0": lambda w: added(w, Document("n", ""), tokens=scaled(0.0)),
    "NaN or infinity": lambda w: added(w, Document("n", ""), tokens=scaled(np.nan)),
    "token id 40 lies outside": lambda w: added(w, Document("n", ""), tokens=named_tokens(40)),
    "token id -1 lies outside": lambda w: added(w, Document("n", ""), tokens=named_tokens(-1)),
    "token id 99 lies outside": lambda w: added(w, Document("n", ""), distinct=[np.array([99], np.int32)]),
    "has documents already": lambda w: w.train(batch(3), tokens=3),
}


def scaled(by: float) -> TokenBatch:
    tokens = batch(2)
    return TokenBatch(tokens.vectors * np.float32(by), tokens.token_ids, tokens.offsets)


def named_tokens(identifier: int) -> TokenBatch:
    return TokenBatch(batch(1).vectors, np.array([identifier], np.int32), np.array([0, 1]))


@pytest.mark.parametrize("sentence", REFUSED)
@pytest.mark.parametrize("pool", [1, 2])
def test_bad_input_is_refused_and_nothing_is_lost(tmp_path: Path, sentence: str, pool: int) -> None:
    with writing(tmp_path, replace(settings_of("float16"), pool=pool)) as writer:
        added(writer, Document("a", "x"), Document("b", "y"))
        before = (tmp_path / "index.json").read_bytes()
        with pytest.raises(InputError, match=sentence) as caught:
            REFUSED[sentence](writer)
        assert "\n" not in str(caught.value)
        assert (tmp_path / "index.json").read_bytes() == before
        added(writer, Document("c", "z"))
        assert sorted(Snapshot.open(tmp_path).ids(np.arange(3))) == ["a", "b", "c"]
    assert verify(tmp_path) == []


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (Document("n\0", "x"), "the id of document 'n\\\\x00' holds a NUL"),
        (Document("n", "half \ud800"), "the text of document n holds"),
        (Document("n", "x", metadata={"a": "\ud800"}), "the metadata of document n holds"),
        (Document("n", "x", metadata={"a": nested(60)}), "metadata may be nested 50 levels deep"),
        (Document("n", "x", metadata={"a": {1}}), "metadata must be JSON, but a is a set"),
        (Document("n", "x", metadata={"a": np.nan}), "document n: a number in metadata must be finite"),
    ],
)
def test_a_document_that_cannot_be_stored_is_refused_before_anything_is_written(
    tmp_path: Path, document: Document, sentence: str
) -> None:
    documents = [Document("a", "x"), document]
    for build in (
        lambda: build_encoded(tmp_path / "index", documents, batch(2, 2), settings_of("float16")),
        lambda: documents_from(documents, check=check_storable),
    ):
        with pytest.raises(InputError, match=sentence) as caught:
            build()
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "index").exists()


def test_strange_ids_find_only_themselves(tmp_path: Path) -> None:
    ids = ["a", "a b", "ä", "a\N{COMBINING DIAERESIS}", "A", "'; DROP", '"', "1", "1.0", "\U0001f600", "x" * 1000]
    with writing(tmp_path, settings_of("float16")) as writer:
        writer.add([Document(identifier, identifier) for identifier in ids], batch(*[1] * len(ids)))
        assert writer.delete(["a\0b", "a\0", "\ud800", "\ud83d", "01"]) == 0
        index = Snapshot.open(tmp_path)
        for identifier in ids:
            allowed = index.allowed(among=[identifier])
            assert allowed is not None
            assert index.ids(np.flatnonzero(allowed)) == [identifier]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"dimensions": 0}, "dimensions must be from 1 to 65,536, not 0"),
        ({"vocabulary_size": 0}, "vocabulary_size must be from 1 to"),
        ({"precision": "3bit"}, "one of float16, int8, 4bit, 2bit, not '3bit'"),
        ({"pool": 0}, "pool must be from 1 to 64 tokens per vector, not 0"),
        ({"projected": 8}, "8 dimensions can be projected to 1 to 7, not 8"),
        ({"projected": 4, "precision": "2bit"}, "a multiple of 8 dimensions, not 4"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Settings(**{"dimensions": 8, "vocabulary_size": 40, **wrong})


def test_an_index_keeps_the_settings_it_was_made_with(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no index"), writing(tmp_path / "absent"):
        pass
    assert not (tmp_path / "absent").exists()
    with writing(tmp_path, settings_of("int8")), pytest.raises(InputError, match="no documents yet"):
        Snapshot.open(tmp_path)
    assert verify(tmp_path) == []
    with pytest.raises(InputError, match="has other settings"), writing(tmp_path, settings_of("float16")):
        pass


def test_a_manifest_of_another_format_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chamfer.index.manifest.FORMAT", 2)
    write_manifest(tmp_path, Manifest(0, settings_of("float16")))
    monkeypatch.undo()
    with pytest.raises(InputError, match="written by another version"):
        read_manifest(tmp_path)


# What verify finds beyond damage


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"tokens": 99}, "index.json is damaged: token_ids.i32 of 00000001 cannot have"),
        ({"documents": 2}, "index.json is damaged: lengths.i32 of 00000001 cannot have 12 bytes"),
        ({"dead": 2}, "index.json is damaged: it counts 2 deleted documents"),
    ],
)
def test_verify_finds_files_that_do_not_belong_together(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    with writing(tmp_path, settings_of("float16")) as writer:
        addition(np.random.default_rng(0), ["a", "b", "c"]).perform(writer)
        writer.delete(["a"])
        entry = replace(writer.manifest.segments[0], **change)
        write_manifest(tmp_path, replace(writer.manifest, segments=(entry,)))
    assert any(sentence in problem for problem in verify(tmp_path))


def test_verify_counts_tokens_and_ids_again(tmp_path: Path) -> None:
    with writing(tmp_path, settings_of("float16")) as writer:
        addition(np.random.default_rng(0), ["a", "b", "c"]).perform(writer)
        alone = writer.manifest
        addition(np.random.default_rng(1), ["a", "d"], name="replace").perform(writer)
        twice = (replace(writer.manifest.segments[0], deleted=None, dead=0), *writer.manifest.segments[1:])
        write_manifest(tmp_path, replace(writer.manifest, segments=twice))
        assert "documents.sqlite holds 'a', as 00000001 does" in verify(tmp_path)[0]
        write_manifest(tmp_path, replace(writer.manifest, segments=alone.segments))
        assert "its counts do not match the documents" in verify(tmp_path)[0]
