"""What an index survives: kills, interruptions, damaged files, a full disk, a second writer."""

import errno
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import chamfer.index.writing
from chamfer.errors import InputError
from chamfer.index import soundness
from chamfer.index.derived import DERIVED
from chamfer.index.manifest import MANIFEST, SEGMENTS, read_manifest
from chamfer.index.settings import PRECISIONS, Precision
from chamfer.index.snapshot import Snapshot
from chamfer.index.verify import verify
from chamfer.index.writing import Writer, writing
from chamfer.retrieve.stages import open_stage
from chamfer.support.files import LOCK, InUseError
from tests.index_model import Model, Operation, addition, at_step, contents, read, written

BASE = [f"d{number}" for number in range(12)]


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power fails while tests run, and waiting for the disk would take most of their time."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(autouse=True)
def outgrown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the tokens are enough for new centroids."""
    monkeypatch.setattr(chamfer.index.writing, "OUTGROWN", 2)


def make(folder: Path, precision: Precision = "float16") -> Model:
    """A small index of two segments, one with deleted documents."""
    generator = np.random.default_rng(0)
    steps = [addition(generator, BASE[:8]), addition(generator, BASE[8:]), Operation("delete", ids=["d1", "d3"])]
    return written(folder, precision, steps)


def files_of(folder: Path) -> list[Path]:
    manifest = read_manifest(folder)
    assert manifest is not None
    named = [folder / file.name for file in manifest.files]
    inner = [folder / SEGMENTS / entry.name / file.name for entry in manifest.segments for file in entry.files]
    return [folder / MANIFEST, *named, *inner]


# Kills


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_kill_at_any_instant_leaves_the_last_commit_or_the_next(tmp_path: Path, precision: str, long: bool) -> None:
    kills = 1000 if long else 40
    command = [sys.executable, "-m", "tests.index_kills", str(tmp_path / "index"), precision, "0", str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 0, done.stderr
    within = int(done.stdout.split(" kills, ")[1].split()[0])
    assert within > kills / 2, done.stdout


class Interruption(BaseException):
    pass


def interrupt() -> NoReturn:
    raise Interruption


OPERATIONS = {
    "replace": lambda: addition(np.random.default_rng(1), ["d2", "d9", "new"], name="replace"),
    # So many tokens more that centroids are learnt again, and all segments become one.
    "grow": lambda: addition(np.random.default_rng(2), [f"e{number}" for number in range(40)], name="replace"),
    "delete": lambda: Operation("delete", ids=["d2", "d9", "absent"]),
    "compact": lambda: Operation("compact"),
}


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_interruption_at_any_step_leaves_the_last_commit_or_the_next(tmp_path: Path, name: str, long: bool) -> None:
    before = make(tmp_path / "base")
    step = OPERATIONS[name]()
    after = step.after(before, "float16")
    number, finished = 0, False
    stride = 1 if long or name == "delete" else 3
    while not finished:
        number += stride
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "base", folder)
        with writing(folder) as writer:
            with at_step(number, interrupt):
                try:
                    step.perform(writer)
                    finished = True
                except Interruption:
                    pass
            assert read(folder) in ([after] if finished else [before, after])
            step.perform(writer)  # the same writer can go on
        with writing(folder):  # sweeps what was left
            assert sorted(path for path in folder.rglob("*.*") if path.name != ".lock") == sorted(files_of(folder))
        assert read(folder) == after
        shutil.rmtree(folder)
    assert number > 10


def test_all_that_a_commit_names_is_on_disk_before_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "index"
    synced: dict[Path, int] = {}
    swaps = 0
    fsync, swap = os.fsync, os.replace

    def sync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        synced[path] = path.stat().st_size
        fsync(handle)

    def replace(old: Path, new: Path) -> None:
        nonlocal swaps
        assert synced[Path(old)] == Path(old).stat().st_size
        swap(old, new)
        synced[Path(new)] = synced.pop(Path(old))
        if Path(new).name == MANIFEST:
            swaps += 1
            for path in files_of(folder):
                assert synced[path] == path.stat().st_size, path
                assert path.name == MANIFEST or path.parent in synced

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    make(folder)
    with writing(folder) as writer:
        writer.compact()
    assert swaps == 5


# Damage


def damaged(folder: Path, path: Path) -> str:
    """The sentence with which an index is refused."""
    with pytest.raises(InputError) as caught:
        Snapshot.open(folder)
    assert path.name in str(caught.value)
    assert str(path.parent) in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_files_that_were_cut_or_grew_are_refused_and_found(tmp_path: Path, precision: Precision) -> None:
    make(tmp_path, precision)
    assert verify(tmp_path) == []
    for path in files_of(tmp_path):
        whole = path.read_bytes()
        for content in (whole[:-2], whole[: len(whole) // 2], b"", whole + b"\0", whole + whole):
            path.write_bytes(content)
            sentence = damaged(tmp_path, path)
            assert "damaged" in sentence
            assert verify(tmp_path) == [sentence]
        path.write_bytes(whole)
    assert verify(tmp_path) == []


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_missing_files_are_named(tmp_path: Path, precision: Precision) -> None:
    make(tmp_path, precision)
    for path in files_of(tmp_path)[1:]:
        path.rename(tmp_path / "away")
        assert damaged(tmp_path, path) == f"{path} is missing; delete the index and build it again"
        assert verify(tmp_path) == [f"{path} is missing; delete the index and build it again"]
        (tmp_path / "away").rename(path)
    (tmp_path / MANIFEST).unlink()
    for look in (Snapshot.open, verify):
        with pytest.raises(InputError, match="holds no index"):
            look(tmp_path)


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_writer_names_missing_files(tmp_path: Path, name: str) -> None:
    make(tmp_path / "index")
    for number, path in enumerate(files_of(tmp_path / "index")[1:]):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "index", folder)
        gone = folder / path.relative_to(tmp_path / "index")
        gone.unlink()
        told = None  # if it was not needed
        try:
            with writing(folder) as writer:
                OPERATIONS[name]().perform(writer)
        except InputError as error:
            told = str(error)
        assert told in (None, f"{gone} is missing; delete the index and build it again")
        assert told or name != "compact" or path.name.startswith("frequencies")
        shutil.rmtree(folder)


@pytest.mark.usefixtures("unsynced")
def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    make(tmp_path)
    [segment, _] = sorted((tmp_path / SEGMENTS).iterdir())
    for folder in (segment, tmp_path / SEGMENTS):
        folder.rename(tmp_path / "away")
        folder.touch()
        for attempt in (Snapshot.open, compact):
            with pytest.raises(InputError, match=r"is missing; delete the index and build it again"):
                attempt(tmp_path)
        assert "cannot be read" in verify(tmp_path)[0]
        folder.unlink()
        (tmp_path / "away").rename(folder)
    open_stage("bm25", Snapshot.open(tmp_path))
    stages = [path for path in sorted((tmp_path / DERIVED).glob("*/*")) if path.is_dir()]
    for place in (stages[0], stages[0].parent, tmp_path / DERIVED):
        shutil.rmtree(place)
        place.touch()
        with pytest.raises(InputError, match=rf"{place} is damaged: it is not a folder; delete it$"):
            open_stage("bm25", Snapshot.open(tmp_path))
        assert verify(tmp_path) == (
            [] if place == stages[0] else [f"{place} is damaged: it is not a folder; delete it"]
        )
        place.unlink()
    open_stage("bm25", Snapshot.open(tmp_path))
    assert verify(tmp_path) == []


@pytest.mark.usefixtures("unsynced")
def test_a_folder_in_place_of_a_lock_is_named(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / LOCK).unlink()
    (tmp_path / LOCK).mkdir()
    with pytest.raises(InputError, match=r"\.lock is a lock and must not be a folder; delete it"):
        compact(tmp_path)
    (tmp_path / DERIVED / LOCK).mkdir(parents=True)
    with pytest.raises(InputError, match=r"derived/\.lock is damaged: it is a folder; delete it"):
        open_stage("bm25", Snapshot.open(tmp_path))


def compact(folder: Path) -> None:
    with writing(folder) as writer:
        writer.compact()


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_flipped_bit_is_found_wherever_it_is(tmp_path: Path, precision: Precision) -> None:
    make(tmp_path, precision)
    generator = np.random.default_rng(0)
    for path in files_of(tmp_path):
        whole = path.read_bytes()
        places = range(0, len(whole), 11) if path.name == MANIFEST else {0, len(whole) - 1, len(whole) // 2}
        for place in places:
            changed = bytearray(whole)
            changed[place] ^= 1 << int(generator.integers(8))
            path.write_bytes(changed)
            problems = verify(tmp_path)
            assert len(problems) == 1
            assert str(path) in problems[0]
            assert "is damaged" in damaged(tmp_path, path)  # a small index is read whole
            if path.parent != tmp_path:  # a copy would have the checksum of what was copied
                with pytest.raises(InputError, match=path.name), writing(tmp_path) as writer:
                    writer.compact()
        path.write_bytes(whole)


@pytest.mark.usefixtures("unsynced")
def test_a_damaged_database_is_a_sentence_and_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundness, "SMALL_INDEX", 0)  # a larger index is not read whole when it is opened
    make(tmp_path)
    path = next(path for path in files_of(tmp_path) if path.suffix == ".sqlite")
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        changed = bytearray(whole)
        for place in generator.integers(len(whole), size=20):
            changed[place] ^= 255
        path.write_bytes(changed)
        with suppress(AssertionError):  # other ids or texts than before, which only verify finds
            try:
                contents(Snapshot.open(tmp_path))
            except InputError as error:
                refused += path.name in str(error)
        assert str(path) in verify(tmp_path)[0]
    assert refused > 100


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_full_disk_leaves_the_index_as_it_was(small_disk: Path, name: str) -> None:
    folder, filler = small_disk / "index", small_disk / "filler"
    before = make(folder)
    step = OPERATIONS[name]()
    after = step.after(before, "float16")
    failures: list[tuple[int | None, bool]] = []
    for free in itertools.count(0, 4096):
        with writing(folder) as writer:
            _fill(filler, free=free)
            try:
                step.perform(writer)
            except OSError as error:
                failures.append((error.errno, str(error.filename).startswith(str(folder))))
            else:
                break
        assert read(folder) == before
    assert read(folder) == after
    assert set(failures) == {(errno.ENOSPC, True)}


@pytest.mark.parametrize("stage", ["bm25", "centroids", "dense", "muvera"])
def test_a_disk_that_is_full_when_files_are_derived_is_an_error_that_names_them(small_disk: Path, stage: str) -> None:
    folder, filler = small_disk / "index", small_disk / "filler"
    make(folder)
    index = Snapshot.open(folder)
    failures: list[tuple[int | None, bool]] = []
    for free in itertools.count(0, 4096):
        _fill(filler, free=free)
        try:
            open_stage(stage, index)
            break
        except OSError as error:
            failures.append((error.errno, str(error.filename).startswith(str(folder))))
    assert set(failures) == {(errno.ENOSPC, True)}


def _fill(filler: Path, *, free: int) -> None:
    """Leave so many bytes of a disk."""
    filler.unlink(missing_ok=True)
    status = os.statvfs(filler.parent)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize - free)


def test_one_index_has_one_writer(tmp_path: Path) -> None:
    make(tmp_path)
    with writing(tmp_path), pytest.raises(InUseError, match="another process is writing"), writing(tmp_path):
        pass
    with writing(tmp_path) as writer:
        assert isinstance(writer, Writer)
