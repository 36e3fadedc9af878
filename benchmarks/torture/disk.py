"""A disk that is full at every possible point of a write; needs the right to mount a small one."""

import errno
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tests.index_model import Model, Operation, addition, read

from chamfer.errors import InputError
from chamfer.index.settings import Precision
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from torture.commits import (
    build,
    change_versions,
    changes_of_versions,
    check_build,
    check_versions,
    documents_built,
    planned_build,
)
from torture.subject import PRECISIONS_IN_TURN, answers, make, queries
from torture.tally import Attack, Tally
from torture.truth import differences

ATTACK = Attack("A full disk at every write", "writes", count=1200, quick=120, seconds=180)

BYTES, PAGE = 1 << 22, 4096


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Leave one page more after every failure, until the operation succeeds; then take the next operation."""
    tally, stop = Tally(), time.monotonic() + seconds
    with _small_disk(folder / "disk") as disk:
        if disk is None:
            tally.failures.append("a small disk cannot be mounted here")
            return tally
        for turn in itertools.count():
            precision = PRECISIONS_IN_TURN[turn % 4]
            for attack in (_fill_up_versions, _fill_up_build):
                if tally.attempts < count and time.monotonic() < stop:
                    attack(disk, precision, seed + turn, tally)
            for name, step in _operations(seed + turn).items():
                if tally.attempts >= count or time.monotonic() > stop:
                    return tally
                shutil.rmtree(disk / "index", ignore_errors=True)
                before = make(disk / "index", precision, seed=seed)
                _fill_up(disk, before, step, precision, tally, f"{precision}, seed {seed + turn}, {name}")
    return tally


def _operations(seed: int) -> dict[str, Operation | None]:
    generator = np.random.default_rng(seed)
    return {
        "replace": addition(generator, ["d2", "d9", "new"], name="replace"),
        "grow": addition(generator, [f"e{number}" for number in range(60)], name="replace"),
        "delete": Operation("delete", ids=["d2", "d9", "absent"]),
        "compact": Operation("compact"),
        "search": None,  # which computes the derived files
    }


def _fill_up(disk: Path, before: Model, step: Operation | None, precision: Precision, tally: Tally, where: str) -> None:
    index = disk / "index"
    after = before if step is None else step.after(before, precision)

    def perform() -> None:
        if step is None:
            wrong = differences(answers(Snapshot.open(index), queries()), read(index), queries())
            for sentence in wrong:
                tally.fail("wrong", f"{where}: {sentence}")
        else:
            with writing(index) as writer:
                step.perform(writer)

    for succeeded in _with_ever_more_space(disk, perform, tally, where):
        _check(index, after if succeeded else before, precision, tally, where)


def _fill_up_build(disk: Path, precision: Precision, seed: int, tally: Tally) -> None:
    """A build goes on where the disk was full, and loses nothing that it had committed."""
    folder, plan, where = disk / "built", planned_build(np.random.default_rng(seed)), f"{precision}, seed {seed}, build"
    done = 0
    for succeeded in _with_ever_more_space(disk, lambda: build(folder, plan, precision), tally, where):
        if succeeded:
            _check(folder, plan.after({}, precision), precision, tally, where)
        else:
            check_build(folder, set(range(done, len(plan.documents) + 1)), tally, where)
        done = documents_built(folder)
    shutil.rmtree(folder)


def _fill_up_versions(disk: Path, _precision: Precision, seed: int, tally: Tally) -> None:
    folder, where = disk / "weights", f"seed {seed}, versions of weights"
    before = change_versions(folder)
    for change in changes_of_versions(seed):
        copied = disk / "copied"
        shutil.copytree(folder, copied)
        after = change_versions(copied, change)
        shutil.rmtree(copied)
        for succeeded in _with_ever_more_space(disk, lambda: change_versions(folder, change), tally, where):  # noqa: B023
            check_versions(folder, [after if succeeded else before], tally, where)
        before = after
    shutil.rmtree(folder)


def _with_ever_more_space(disk: Path, perform: Callable[[], object], tally: Tally, where: str) -> Iterator[bool]:
    """Try until there is space enough; yields after each attempt whether it succeeded, with all the space there is."""
    filler, succeeded = disk / "filler", False
    for free in itertools.count(0, PAGE):
        _fill(filler, free)
        tally.attempts += 1
        try:
            perform()
            succeeded = True
        except InputError:
            tally.count("refused")
        except OSError as error:
            tally.count("reported as a full disk")
            if error.errno != errno.ENOSPC or not str(error.filename).startswith(str(disk)):
                tally.fail("raw", f"{where}: {type(error).__name__}: {error}")
        except Exception as error:
            tally.fail("raw", f"{where}: {type(error).__name__}: {error}")
        filler.unlink()
        yield succeeded
        if succeeded:
            return


def _check(index: Path, expected: Model, precision: Precision, tally: Tally, where: str) -> None:
    try:
        found = read(index)
    except Exception as error:
        tally.fail("lost", f"{where}: {type(error).__name__}: {error}")
        return
    if found.keys() != expected.keys():
        kind = "lost" if expected.keys() - found.keys() else "phantom"
        tally.fail(kind, f"{where}: {sorted(expected.keys() ^ found.keys())}")  # type: ignore[arg-type]
    elif precision in ("float16", "int8") and found != expected:
        tally.fail("wrong", f"{where}: other contents")


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path | None]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={BYTES}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _fill(filler: Path, free: int) -> None:
    filler.unlink(missing_ok=True)
    status = os.statvfs(filler.parent)
    with filler.open("wb") as file:
        size = status.f_bavail * status.f_frsize - free
        os.posix_fallocate(file.fileno(), 0, max(size, 1))
