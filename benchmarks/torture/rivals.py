"""Several writers and readers of one folder, while the index is replaced, deleted and rebuilt."""

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.index_model import Model, addition, contents, read, settings_of

from chamfer.errors import InputError
from chamfer.index.settings import Precision
from chamfer.index.snapshot import Snapshot
from chamfer.index.verify import verify
from chamfer.index.writing import writing
from chamfer.retrieve.stages import stage_named, stage_names
from chamfer.support.files import InUseError
from torture.forked import ChildError, in_child
from torture.subject import DELETED, PRECISIONS_IN_TURN, make, queries
from torture.tally import Attack, Tally
from torture.truth import wrong_rankings

ATTACK = Attack("Rival writers; an index replaced, deleted and rebuilt under load", "changes", 400, 12, 180)

WRITERS = 3
# The file that a reader leaves after its first search, and the seconds that it has for that on a busy machine.
SEARCHED, PATIENCE = "searched", 30.0


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Half of the changes by rival writers, a quarter to a folder under a reader, a quarter by copying over a build."""
    for name in stage_names():  # imported once, before any fork
        stage_named(name)
    tally, stop = Tally(), time.monotonic() + seconds
    _rivals(folder / "rivals", count // 2, seed, stop - seconds / 2, tally)
    _replacements(folder, count - count // 2, seed, stop, tally)
    if not tally.facts.get("searches meanwhile"):
        tally.incomplete.append("no reader ever searched")
    return tally


def _rivals(folder: Path, count: int, seed: int, until: float, tally: Tally) -> None:
    """Writers that take turns; each notes what it has committed, and that must be there in the end."""
    with writing(folder, settings_of("float16")):
        pass
    share = count // WRITERS + 1
    pids = [_forked(lambda: _write(folder, writer, share, seed, until)) for writer in range(WRITERS)]  # noqa: B023
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        if status:
            tally.fail("crashes" if os.WIFSIGNALED(status) else "raw", f"a rival writer ended with status {status}")
    expected: set[str] = set()
    for writer in range(WRITERS):
        noted = _notes(folder, writer).read_text().splitlines()
        tally.attempts += sum(line[0] in "+-" for line in noted)
        tally.count("refused because another process writes", sum(line == "busy" for line in noted))
        for line in noted:
            if line[0] == "+":
                expected.add(line[1:])
            elif line[0] == "-":
                expected.discard(line[1:])
    try:
        found = set(in_child(lambda: list(read(folder))))
    except ChildError as error:
        tally.fail(error.kind, f"rival writers: {error}")  # type: ignore[arg-type]
        return
    for one in expected - found:
        tally.fail("lost", f"rival writers: {one}")
    for one in found - expected:
        tally.fail("phantom", f"rival writers: {one}")


def _write(folder: Path, writer: int, share: int, seed: int, until: float) -> None:
    chance, generator, own = random.Random(f"{seed} {writer}"), np.random.default_rng([seed, writer]), list[str]()
    done = 0
    with _notes(folder, writer).open("w", buffering=1) as notes:
        while done < share and time.monotonic() < until:
            try:
                with writing(folder) as held:
                    if own and chance.random() < 0.3:
                        gone = own.pop(chance.randrange(len(own)))
                        held.delete([gone])
                        notes.write(f"-{gone}\n")
                    else:
                        name = f"w{writer}-{done:04}"
                        step = addition(generator, [name])
                        step.perform(held)
                        own.append(name)
                        notes.write(f"+{name}\n")
                done += 1
            except InUseError:
                notes.write("busy\n")
            time.sleep(chance.uniform(0, 0.004))  # else the last one to write mostly gets the lock again


def _notes(folder: Path, writer: int) -> Path:
    return folder.with_name(f"{folder.name}.{writer}")


def _replacements(folder: Path, count: int, seed: int, stop: float, tally: Tally) -> None:
    """An index that becomes another one while a reader searches it."""
    builds = folder / "builds"
    for place in range(4):  # not in this process, which forks a reader, and may not have used threads before
        in_child(lambda: make(builds / str(place), _precision(place), seed=seed + place) and None)  # noqa: B023
    index, ended, seen = folder / "index", folder / "ended", folder / "seen"
    shutil.copytree(builds / "0", index)
    reader = _forked(lambda: _read(index, [read(builds / str(place)) for place in range(4)], ended, seen))
    chance = random.Random(seed)
    for number in range(count):
        if time.monotonic() > stop:
            break
        place = chance.randrange(4)
        if number % 2:
            _copied_over(folder / "copied", builds / str(place), tally, f"seed {seed}, change {number}")
        else:
            CHANGES[number // 2 % len(CHANGES)](index, builds / str(place), place, seed)
        tally.attempts += 1
        time.sleep(chance.uniform(0, 0.1))
    until = time.monotonic() + PATIENCE
    while not (folder / SEARCHED).exists() and time.monotonic() < until:
        time.sleep(0.01)
    ended.touch()
    _, status = os.waitpid(reader, 0)
    if status:
        tally.fail("crashes", f"a reader ended with status {status}")
        return
    searches, refusals, *failures = seen.read_text().splitlines()
    tally.count("searches meanwhile", int(searches))
    tally.count("refused meanwhile", int(refusals))
    for line in failures:
        kind, _, what = line.partition(" ")
        tally.fail(kind, f"while the index was replaced: {what}")  # type: ignore[arg-type]


def _copied_over(index: Path, build: Path, tally: Tally, where: str) -> None:
    """A build is copied over another one, whose derived files stay behind: none of them is used.

    In a folder without other readers, because copying writes into files that they have mapped.
    """
    shutil.copytree(build, index, dirs_exist_ok=True)
    try:
        found = in_child(lambda: [*wrong_rankings(Snapshot.open(index), read(build), queries()), *verify(index)])
    except ChildError as error:
        tally.fail(error.kind, f"{where}: a build copied over another: {error}")  # type: ignore[arg-type]
        return
    for sentence in found:
        tally.fail("wrong", f"{where}: a build copied over another: {sentence}")


def _precision(place: int) -> Precision:
    return PRECISIONS_IN_TURN[place]


def _swap(index: Path, build: Path, _place: int, _seed: int) -> None:
    """A finished build takes the place of the folder."""
    shutil.copytree(build, index.with_name("coming"))
    index.rename(index.with_name("going"))
    index.with_name("coming").rename(index)
    _remove(index.with_name("going"))


def _rebuild(index: Path, _build: Path, place: int, seed: int) -> None:
    """The folder is deleted, and the index built again in it."""
    _remove(index)
    make(index, _precision(place), seed=seed + place)


def _delete(index: Path, build: Path, _place: int, _seed: int) -> None:
    """The folder is gone for a while, and then there is another."""
    _remove(index)
    time.sleep(0.02)
    shutil.copytree(build, index.with_name("coming"))
    index.with_name("coming").rename(index)


def _remove(folder: Path) -> None:
    while folder.exists():  # a reader may put derived files into it meanwhile
        shutil.rmtree(folder, ignore_errors=True)


CHANGES: list[Callable[[Path, Path, int, int], None]] = [_swap, _rebuild, _delete]


def _read(index: Path, builds: list[Model], ended: Path, seen: Path) -> None:
    searches = refusals = 0
    failures: list[str] = []
    held: tuple[Snapshot, Model] | None = None
    while not ended.exists():
        try:
            snapshot = Snapshot.open(index)
            model = contents(snapshot)
            wrong = wrong_rankings(snapshot, model, queries())
            searches += 1
            ended.with_name(SEARCHED).touch()
            if held is not None:  # a commit that was opened stays what it was, whatever becomes of its folder
                wrong += wrong_rankings(*held, queries())
            if not any(_is_of(model, build) for build in builds):
                wrong.append("documents that no build holds together")
            failures += [f"wrong {sentence}" for sentence in wrong]
            held = snapshot, model
        except InputError:
            refusals += 1
            time.sleep(0.005)
        except Exception as error:
            failures.append(f"raw {type(error).__name__}: {error}".replace("\n", " "))
    seen.write_text("\n".join([str(searches), str(refusals), *failures]))


def _is_of(found: Model, build: Model) -> bool:
    """Whether a build, finished or not, holds these documents; residuals change vectors."""
    return all(
        one in DELETED or (one in build and kept.token_ids == build[one].token_ids) for one, kept in found.items()
    )


def _forked(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(1)
    return pid
