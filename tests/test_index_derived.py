"""What first stages derive from segments: never of another build, never of damaged files, never damaged in silence."""

import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chamfer import InputError, TokenBatch
from chamfer.data.documents import Document
from chamfer.index.columns import CENTROIDS_FILE, DISTINCT_FILE, VECTORS_FILE
from chamfer.index.derived import check_derived
from chamfer.index.description import describe
from chamfer.index.manifest import SEGMENTS, File, needed_manifest, write_manifest
from chamfer.index.settings import Precision
from chamfer.index.signed import signed
from chamfer.index.snapshot import Snapshot
from chamfer.index.texts import TEXTS
from chamfer.index.verify import verify
from chamfer.index.writing import writing
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.retrieve.stages import open_stage
from tests.index_model import DIMENSIONS, VOCABULARY, settings_of
from tests.vectors import unit

STAGES = ["bm25", "centroids", "dense", "muvera"]
DERIVED = "derived"
WORDS = ["red", "green", "blue", "black", "white", "grey", "pink"]
DOCUMENTS = 30


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def build(folder: Path, seed: int, precision: Precision = "float16") -> None:
    """An index of one segment; equal seeds give equal files, others only equal sizes."""
    generator = np.random.default_rng(seed)
    with writing(folder, settings_of(precision)) as writer:
        documents = [
            Document(f"d{place:02d}", " ".join(generator.choice(WORDS, 5, replace=False))) for place in range(DOCUMENTS)
        ]
        vectors = unit(generator, 4 * DOCUMENTS, DIMENSIONS).astype(np.float16)
        token_ids = generator.permuted(np.tile(np.arange(VOCABULARY, dtype=np.int32), (DOCUMENTS, 1)), axis=1)[:, :4]
        writer.add(documents, TokenBatch(vectors, token_ids.ravel(), np.arange(0, len(vectors) + 1, 4)))


def queries() -> Queries:
    generator = np.random.default_rng(9)
    vectors = unit(generator, 6, DIMENSIONS).astype(np.float32)
    tokens = TokenBatch(vectors, np.arange(6, dtype=np.int32), np.array([0, 3, 6]))
    return Queries(["red green", "black blue pink"], tokens, np.ones(6, np.float32))


def found(index: Path | Snapshot, stage: str) -> list[tuple[list[int], list[float]]]:
    snapshot = index if isinstance(index, Snapshot) else Snapshot.open(index)
    answers: list[Candidates] = open_stage(stage, snapshot).find(queries(), 8, None)
    return [(one.places.tolist(), one.scores.tolist()) for one in answers]


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / DERIVED).rglob("*") if path.is_file() and path.name != ".lock")


def copy_over(source: Path, target: Path) -> None:
    shutil.copytree(source, target, dirs_exist_ok=True)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two builds whose files have the same names and the same sizes."""
    first, second = tmp_path / "first", tmp_path / "second"
    build(first, 1)
    build(second, 2)
    return first, second


# Of another build


@pytest.mark.parametrize("stage", STAGES)
def test_a_build_copied_over_another_is_searched_as_itself(two: tuple[Path, Path], stage: str, tmp_path: Path) -> None:
    first, second = two
    before = found(first, stage)
    copy_over(second, tmp_path / "fresh")
    expected = found(tmp_path / "fresh", stage)
    copy_over(second, first)
    assert found(first, stage) == expected != before
    assert verify(first) == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_snapshot_that_outlives_its_index_leaves_nothing_in_the_next(two: tuple[Path, Path], stage: str) -> None:
    first, second = two
    old = Snapshot.open(first)
    shutil.rmtree(first)
    build(first, 2)
    of_old = found(old, stage)  # made only now, and still of the old documents
    assert files_in(first) == []
    assert found(first, stage) == found(second, stage) != of_old
    shutil.rmtree(first)
    assert found(old, stage) == of_old
    assert not first.exists()


@pytest.mark.parametrize("stage", ["centroids", "dense"])
def test_what_was_derived_with_other_centroids_is_not_used(tmp_path: Path, stage: str) -> None:
    """Residuals are decoded with centroids and levels that are in a file outside the segment."""
    first, second = tmp_path / "first", tmp_path / "second"
    build(first, 1, "4bit")
    build(second, 2, "4bit")
    shutil.copytree(first, tmp_path / "fresh")
    before = found(first, stage)
    for folder in (first, tmp_path / "fresh"):
        manifest = needed_manifest(folder)
        assert manifest.trained is not None
        shutil.copy(second / manifest.trained.name, folder)
        write_manifest(folder, replace(manifest, trained=File.of(folder / manifest.trained.name)))
    assert found(first, stage) == found(tmp_path / "fresh", stage) != before


def test_what_belongs_to_no_segment_is_swept(two: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = two
    for stage in STAGES:
        found(first, stage)
    stale = files_in(first)
    (first / DERIVED / "00000001" / "dense-1").mkdir(parents=True)  # as earlier versions named it
    (first / DERIVED / ".dense-1.12-0123abcd").mkdir()  # of a reader that was killed
    copy_over(second, first)
    found(first, "bm25")
    assert not set(files_in(first)) & set(stale)
    assert {path.name for path in files_in(first)} >= {"words.txt"}
    assert [path.name for path in (first / DERIVED).iterdir() if not path.name.startswith(f"{'1':>08}-")] == [".lock"]


def test_what_a_reader_makes_now_is_not_swept(two: tuple[Path, Path]) -> None:
    first, _ = two
    [segment] = Snapshot.open(first).segments

    def make(folder: Path) -> None:
        (folder / "a.txt").write_text("a")
        with writing(first) as writer:
            writer.delete(["d00"])
        assert folder.is_dir()

    assert segment.derived("test-1", make, lambda folder: (folder / "a.txt").read_text()) == "a"
    with writing(first) as writer:
        writer.delete(["d01"])  # deletions change nothing that is derived
    assert [path.name for path in files_in(first)] == ["a.txt", "files.json"]
    with writing(first) as writer:
        writer.compact()
    assert files_in(first) == []


def test_readers_that_derive_at_the_same_time_do_not_disturb_each_other(two: tuple[Path, Path]) -> None:
    first, _ = two
    together = threading.Barrier(3, timeout=60)

    def read(number: int) -> str:
        [segment] = Snapshot.open(first).segments

        def make(folder: Path) -> None:
            (folder / "a.txt").write_text("a")
            together.wait()

        return segment.derived("test-1", make, lambda folder: f"{(folder / 'a.txt').read_text()}{number}")

    with ThreadPoolExecutor(3) as readers:
        assert list(readers.map(read, range(3))) == ["a0", "a1", "a2"]
    assert [path.name for path in files_in(first)] == ["a.txt", "files.json"]
    assert verify(first) == []


def test_an_index_is_described_while_derived_files_are_removed(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = two
    found(first, "bm25")
    scandir = os.scandir

    def removing(path: Any) -> Any:
        if Path(str(path)).name.startswith("bm25"):
            shutil.rmtree(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", removing)
    assert describe(first)["bytes_of_first_stages"] == 0


# Damage


@pytest.mark.parametrize("stage", STAGES)
def test_flipped_bytes_are_found_by_verify_and_mended_by_the_next_reader(
    two: tuple[Path, Path], stage: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder, _ = two
    expected = found(folder, stage)
    generator = np.random.default_rng(0)
    for path in files_in(folder):
        content = path.read_bytes()
        for place in generator.integers(0, len(content), 3).tolist():
            changed = bytearray(content)
            changed[place] ^= 1 << int(generator.integers(8))
            path.write_bytes(changed)
            [problem] = verify(folder)
            assert str(path) in problem
            assert problem.endswith(f"delete {path.parent} to have it computed again")
            assert found(folder, stage) == expected
            assert "is computed again: " in caplog.text
            assert verify(folder) == []
            assert path.read_bytes() == content or stage == "dense"


@pytest.mark.parametrize("stage", STAGES)
def test_files_that_a_writer_sweeps_while_they_are_opened_are_made_again(
    two: tuple[Path, Path], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = found(two[0], stage)

    def swept(folder: Path, *, whole: bool) -> None:
        check_derived(folder, whole=whole)
        shutil.rmtree(folder)

    monkeypatch.setattr("chamfer.index.derived.check_derived", swept)
    assert found(two[0], stage) == right


@pytest.mark.parametrize("stage", STAGES)
def test_a_snapshot_is_searched_after_its_folder_was_deleted(
    two: tuple[Path, Path], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, snapshot = found(two[0], stage), Snapshot.open(two[0])
    shutil.rmtree(two[0] / DERIVED)

    def deleted(index: Path) -> None:
        shutil.rmtree(index)

    monkeypatch.setattr("chamfer.index.derived.sweep_derived", deleted)  # the last moment before files are made
    assert found(snapshot, stage) == right
    assert not two[0].exists()


@pytest.mark.parametrize("stage", STAGES)
def test_a_folder_that_is_deleted_while_files_are_made_stays_deleted(
    two: tuple[Path, Path], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise no index could be built or renamed to its place."""
    right, snapshot = found(two[0], stage), Snapshot.open(two[0])
    shutil.rmtree(two[0] / DERIVED)

    def deleted(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
        shutil.rmtree(two[0], ignore_errors=True)
        return signed(name, content)

    monkeypatch.setattr("chamfer.index.derived.signed", deleted)  # the last moment before the list is written
    assert found(snapshot, stage) == right
    assert not two[0].exists()


@pytest.mark.parametrize("stage", STAGES)
def test_files_that_are_gone_or_cut_are_made_again(two: tuple[Path, Path], stage: str) -> None:
    folder, _ = two
    expected = found(folder, stage)
    for path in files_in(folder):
        path.unlink()
        assert "is missing; delete " in verify(folder)[0]
        assert found(folder, stage) == expected
        os.truncate(path, 1)
        assert len(verify(folder)) == 1
        assert found(folder, stage) == expected


@pytest.mark.parametrize("stage", STAGES)
def test_damage_in_a_large_file_raises_our_own_error_or_nothing(
    two: tuple[Path, Path], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checksums of large files are left to verify; what can be seen while ranking is an error."""
    monkeypatch.setattr("chamfer.index.derived.SMALL", -1)
    folder, _ = two
    found(folder, stage)
    snapshot = Snapshot.open(folder)
    generator = np.random.default_rng(0)
    for path in files_in(folder):
        content = path.read_bytes()
        for place in generator.integers(0, len(content), 8).tolist():
            changed = bytearray(content)
            changed[place] ^= 1 << int(generator.integers(8))
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(changed)
            with suppress(InputError):
                found(snapshot, stage)
            path.write_bytes(content)


@pytest.mark.parametrize(
    ("stage", "name"),
    [("bm25", TEXTS), ("centroids", CENTROIDS_FILE), ("centroids", DISTINCT_FILE), ("dense", VECTORS_FILE)],
)
def test_nothing_is_derived_from_damaged_files(two: tuple[Path, Path], stage: str, name: str) -> None:
    folder, _ = two
    snapshot = Snapshot.open(folder)
    [path] = folder.glob(f"{SEGMENTS}/*/{name}")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match=f"{re.escape(name)} is damaged: checksum mismatch"):
        found(snapshot, stage)
    path.write_bytes(content)
    assert found(folder, stage)


def test_a_folder_of_another_stage_or_segment_is_not_used(two: tuple[Path, Path]) -> None:
    first, second = two
    expected = found(first, "dense")
    found(second, "dense")
    [own], [other] = ([path.parent for path in files_in(folder) if path.suffix == ".json"] for folder in two)
    shutil.rmtree(own)
    shutil.copytree(other, own)
    assert "files.json is damaged: it is of " in verify(first)[0]
    assert found(first, "dense") == expected


# Permissions


@contextmanager
def as_another_user() -> Iterator[None]:
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_to_all(two: tuple[Path, Path]) -> Path:
    """An index that other users may read but not write."""
    folder = two[0]
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    for path in (folder, *folder.parents):
        if stat.S_IMODE(path.stat().st_mode) == 0o700:  # pytest's own folders
            path.chmod(0o755)
    return folder


def test_other_users_read_what_the_owner_derived(open_to_all: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [found(open_to_all, stage) for stage in STAGES]
    for path in (open_to_all / DERIVED).rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644), path
    monkeypatch.setattr("chamfer.retrieve.postings.write_postings", lambda *_: pytest.fail("made again"))
    with as_another_user():
        assert [found(open_to_all, stage) for stage in STAGES] == expected


def test_users_who_may_not_write_derive_for_themselves(open_to_all: Path) -> None:
    with as_another_user():
        alone = [found(open_to_all, stage) for stage in STAGES]
    assert files_in(open_to_all) == []
    assert [found(open_to_all, stage) for stage in STAGES] == alone
    path = next(path for path in files_in(open_to_all) if path.name == "words.txt")
    path.write_bytes(b"")
    with as_another_user():
        assert found(open_to_all, "bm25") == alone[0]


@pytest.mark.parametrize("what", ["index.json", "segments/*/documents.sqlite", "segments/*/codes.u8", "derived/*/*"])
def test_a_permission_error_is_called_one(open_to_all: Path, what: str) -> None:
    found(open_to_all, "bm25")
    [path] = open_to_all.glob(what)
    path.chmod(0)
    with as_another_user():
        with pytest.raises(InputError, match="may not be read by this user"):
            found(open_to_all, "bm25")
        [problem] = verify(open_to_all)
        assert "may not be read by this user" in problem
