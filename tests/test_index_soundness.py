"""Damage to files that are not read whole when an index is opened: found on request, in the background and in time."""

import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from chamfer.encode.encoder import Encoder
from chamfer.errors import DamagedError, InputError
from chamfer.index import derived, soundness
from chamfer.index.building import build_index
from chamfer.index.columns import CODES_FILE, KINDS, SCALES_FILE, TOKEN_IDS_FILE, VECTORS_FILE
from chamfer.index.index import Index
from chamfer.index.manifest import SEGMENTS
from chamfer.index.settings import Precision
from chamfer.index.snapshot import Snapshot
from chamfer.index.texts import TEXTS
from chamfer.index.writing import writing
from chamfer.kernels import native
from chamfer.retrieve.postings import COUNTS
from chamfer.search.hits import Hit
from chamfer.search.searcher import Searcher
from tests.conftest import DOCUMENTS

QUERY = "why do cats sleep"


@pytest.fixture(scope="module")
def built(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "index"
    build_index(folder, DOCUMENTS, encoder)
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "index"))


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index that counts as large, so that opening it reads little of it."""
    monkeypatch.setattr(soundness, "SMALL_INDEX", 0)
    return folder


def path_of(folder: Path, name: str) -> Path:
    [path] = (folder / SEGMENTS).glob(f"*/{name}")
    return path


def flip(path: Path) -> None:
    """Damage a file in place, as a failing disk does: its time stamps stay."""
    times = path.stat()
    with path.open("r+b") as file:
        file.seek(times.st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 64]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("name", [VECTORS_FILE, CODES_FILE, SCALES_FILE, TOKEN_IDS_FILE, TEXTS])
def test_a_small_index_is_verified_when_it_is_opened(folder: Path, name: str) -> None:
    Snapshot.open(folder)
    flip(path_of(folder, name))
    with pytest.raises(DamagedError, match=f"{name} is damaged: checksum mismatch"):
        Snapshot.open(folder)


def test_a_large_index_is_verified_on_request(large: Path, encoder: Encoder) -> None:
    Searcher.open(large, encoder=encoder)  # makes what is derived from the vectors
    flip(path_of(large, VECTORS_FILE))
    assert Searcher.open(large, encoder=encoder).search(QUERY)
    for source in (large, Index.open(large)):
        with pytest.raises(DamagedError, match=f"{VECTORS_FILE} is damaged"):
            Searcher.open(source, encoder=encoder, verify=True)


def test_a_verified_searcher_verifies_new_commits_too(large: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(large, encoder=encoder, verify=True)
    with writing(large) as writer:
        writer.delete(["d1"])
    flip(path_of(large, VECTORS_FILE))
    with pytest.raises(DamagedError, match=f"{VECTORS_FILE} is damaged"):
        searcher.refreshed()


def test_files_are_read_once_unless_they_change(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundness, "ROUNDED", -1)  # they are new, and would be read again for two seconds
    pieces: list[None] = []
    index = Snapshot.open(large)
    index.soundness.check_files(lambda: pieces.append(None))
    assert len(pieces) > 5
    pieces.clear()
    Snapshot.open(large).soundness.check_files(lambda: pieces.append(None))
    assert pieces == []
    flip(path_of(large, CODES_FILE))
    with pytest.raises(DamagedError, match=f"{CODES_FILE} is damaged"):
        Snapshot.open(large, verify=True)


def test_damage_that_is_found_in_the_background_ends_searches(large: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(large, encoder=encoder)
    flip(path_of(large, VECTORS_FILE))
    before = searcher.search(QUERY)
    searcher.index.soundness.check_in_background()
    searcher.index.soundness.wait()
    assert before
    for use in (lambda: searcher.search(QUERY), lambda: searcher.explain(QUERY, "d1")):
        with pytest.raises(DamagedError, match=f"{VECTORS_FILE} is damaged: checksum mismatch"):
            use()


def test_a_sound_index_is_checked_in_the_background_once(large: Path) -> None:
    index = Snapshot.open(large)
    for _ in range(2):
        index.soundness.check_in_background()
        index.soundness.wait()
    assert (index.soundness.is_checked, index.soundness.damage) == (True, None)
    index.check()


def test_a_background_check_has_a_low_priority_and_can_be_stopped(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, may_go_on = threading.Event(), threading.Event()
    priorities: list[int] = []

    def check(folder: Path, manifest: object, pause: soundness.Pause) -> None:
        priorities.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        began.set()
        may_go_on.wait()
        pause()
        raise AssertionError("not stopped")

    monkeypatch.setattr(soundness, "check_files", check)
    index = Snapshot.open(large)
    index.soundness.check_in_background()
    began.wait()
    index.soundness.stop()
    may_go_on.set()
    index.soundness.wait()
    assert priorities == [19]
    assert os.getpriority(os.PRIO_PROCESS, 0) < 19
    assert (index.soundness.is_checked, index.soundness.damage) == (False, None)


def test_damaged_derived_files_are_found_in_the_background_and_made_again_on_request(
    large: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived, "SMALL", -1)  # a larger file is not read whole when it is opened
    searcher = Searcher.open(large, encoder=encoder, first_stage="bm25")
    before = searcher.search(QUERY)
    places = list(derived.derived_folders(large, searcher.index.manifest))
    assert places
    path = max((path for place in places for path in place.iterdir()), key=lambda path: path.stat().st_size)
    flip(path)
    searcher.index.soundness.check_in_background()
    searcher.index.soundness.wait()
    with pytest.raises(DamagedError, match=f"{path.name} is damaged.*; delete {path.parent} to have it computed again"):
        searcher.search(QUERY)
    assert Searcher.open(large, encoder=encoder, first_stage="bm25", verify=True).search(QUERY) == before


def test_a_background_check_waits_for_searches(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Idle(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            is_waiting.set()
            return super().wait()

    is_waiting = threading.Event()
    index = Snapshot.open(large)
    monkeypatch.setattr(index.soundness, "_idle", Idle())
    with index.searching():
        index.soundness.check_in_background()
        is_waiting.wait()
        assert not index.soundness.is_checked
    index.soundness.wait()
    assert index.soundness.is_checked


def test_an_index_that_was_replaced_is_no_damage_to_the_open_one(large: Path, encoder: Encoder, tmp_path: Path) -> None:
    index = Snapshot.open(large)
    large.rename(tmp_path / "away")
    build_index(large, {**DOCUMENTS, "d6": "something else"}, encoder)
    index.soundness.check_in_background()
    index.soundness.wait()
    index.check()


@pytest.mark.parametrize("gone", [False, True])
def test_a_file_that_is_truncated_under_a_reader_is_an_error_and_no_signal(
    large: Path, encoder: Encoder, gone: bool
) -> None:
    searcher = Searcher.open(large, encoder=encoder)
    path = path_of(large, VECTORS_FILE)
    with path.open("r+b") as file:
        if gone:
            path.unlink()
        file.truncate(10)
        for use in (lambda: searcher.search(QUERY), lambda: searcher.explain(QUERY, "d1")):
            with pytest.raises(DamagedError, match="was truncated while it was open"):
                use()


def test_a_derived_file_that_is_truncated_under_a_reader_is_an_error_and_no_signal(
    large: Path, encoder: Encoder
) -> None:
    searcher = Searcher.open(large, encoder=encoder, first_stage="bm25")
    searcher.search(QUERY)
    [path] = large.glob(f"{derived.DERIVED}/*/*/{COUNTS}")
    os.truncate(path, 10)
    for _ in range(2):
        with pytest.raises(DamagedError, match=f"{COUNTS} is damaged: it was truncated while it was open; delete"):
            searcher.search(QUERY)
        shutil.rmtree(path.parent, ignore_errors=True)  # what is mapped stays truncated
    assert Searcher.open(large, encoder=encoder, first_stage="bm25").search(QUERY)


def test_scores_that_are_not_numbers_are_damage(large: Path, encoder: Encoder) -> None:
    path = path_of(large, VECTORS_FILE)
    path.write_bytes(np.full(path.stat().st_size // 2, np.nan, np.float16).tobytes())
    with pytest.raises(InputError, match="damaged") as caught:
        Searcher.open(large, encoder=encoder).search(QUERY)
    assert isinstance(caught.value, DamagedError)


@pytest.mark.skipif(native.path() is None, reason="without the native kernel, only finite scores are checked")
@pytest.mark.parametrize(
    ("precision", "name", "value"),
    [
        *(("float16", VECTORS_FILE, value) for value in (np.nan, np.inf, 2, -6e4)),
        *(
            (precision, SCALES_FILE, value)
            for precision in ("float16", "int8")
            for value in (np.nan, np.inf, -0.01, -0.0, 0, 1, 1e-4)
        ),
    ],
)
def test_one_damaged_number_never_changes_a_ranking_in_silence(
    encoder: Encoder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    precision: Precision,
    name: str,
    value: float,
) -> None:
    monkeypatch.setattr(soundness, "SMALL_INDEX", 0)
    build_index(tmp_path, DOCUMENTS, encoder, precision=precision)

    def found(k: int) -> list[Hit]:
        return Searcher.open(tmp_path, encoder=encoder, first_stage="exhaustive").search(QUERY, k=k)

    right = {k: found(k) for k in (1, 5)}
    path = path_of(tmp_path, name)
    numbers = np.fromfile(path, KINDS[path.suffix[1:]])
    refused = 0
    for place in range(0, len(numbers), 1 if name == SCALES_FILE else 37):
        damaged = numbers.copy()
        damaged[place] = value
        path.write_bytes(damaged.tobytes())
        for k, hits in right.items():
            try:
                assert found(k) == hits
            except DamagedError:
                refused += 1
    assert refused
