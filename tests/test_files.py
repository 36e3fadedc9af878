"""Locks and atomic files: what other processes, forks and power failures make of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chamfer.errors import InputError
from chamfer.support.files import InUseError, write_text, writer_lock
from tests.forks import in_child

pytestmark = pytest.mark.filterwarnings("ignore:This process")  # Python warns of a fork while threads run


def test_a_lock_is_not_opened_through_a_link(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "folder"
    precious.write_text("kept")
    folder.mkdir()
    (folder / ".lock").symlink_to(precious)
    with pytest.raises(InputError, match="is a lock and must not be a symbolic link"), writer_lock(folder):
        pass
    assert precious.read_text() == "kept"


def test_a_lock_file_keeps_its_content(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("kept")
    with writer_lock(tmp_path):
        pass
    assert (tmp_path / ".lock").read_text() == "kept"


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    ended, end = os.pipe()
    with writer_lock(tmp_path):
        child = os.fork()
        if child == 0:
            os.close(end)
            os.read(ended, 1)  # until the parent closes its end
            os._exit(0)
    try:
        with writer_lock(tmp_path):
            pass
    finally:
        os.close(end)
        os.close(ended)
        os.waitpid(child, 0)


def test_a_forked_child_has_no_lock_and_leaves_that_of_its_parent(tmp_path: Path) -> None:
    def write() -> str:
        with pytest.raises(InUseError, match="forked"):
            lock.check()
        with pytest.raises(InUseError, match="another process is writing"), writer_lock(tmp_path):
            pass
        return "refused"

    with writer_lock(tmp_path) as lock:
        assert in_child(write) == "refused"
        lock.check()
        with pytest.raises(InUseError), writer_lock(tmp_path):
            pass


@pytest.mark.parametrize(
    "make", [lambda path: write_text(path / "file", "text"), lambda path: writer_lock(path).__enter__()]
)
def test_the_parents_of_a_new_folder_are_flushed_to_disk(
    tmp_path: Path, make: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[Path] = set()
    monkeypatch.setattr(os, "fsync", lambda handle: synced.add(Path(f"/proc/self/fd/{handle}").readlink()))
    make(tmp_path / "a" / "b")
    assert {tmp_path, tmp_path / "a"} <= synced
    synced.clear()
    make(tmp_path / "a" / "b" / "c")
    assert tmp_path / "a" not in synced
