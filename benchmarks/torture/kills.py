"""SIGKILL to writers and builders at any instant, while readers search.

Vectors are given, so no model is loaded, and every process is a fork of one that has no threads.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.index_kills import LONGEST, planned, work
from tests.index_model import DIMENSIONS, Model, Operation, addition, contents, read, settings_of

from chamfer.errors import InputError
from chamfer.index import merging
from chamfer.index.manifest import read_manifest
from chamfer.index.settings import Precision
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from chamfer.retrieve.stages import stage_named, stage_names
from torture.commits import build, planned_build
from torture.forked import ChildError, in_child
from torture.subject import PRECISIONS_IN_TURN, queries
from torture.tally import Attack, Tally
from torture.truth import wrong_rankings

ATTACK = Attack("SIGKILL to writers and builders", "kills", count=1200, quick=16, seconds=720)

# Seconds that a worker has at most.
LONGEST_EVER = 2.0
# Of four kills, one hits a builder.
BUILDERS = 4
# Seconds that a reader has for its first search, on a machine that is busy.
PATIENCE = 30.0
# Tokens whose decoded vectors point elsewhere than the given ones, on average, are not those that were stored. Of a few
# tokens the average says little.
LOWEST_COSINE, FEW = 0.5, 30


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Kill in turn for every precision, with as many kills each."""
    merging.FAN = 3  # segments are merged often
    for name in stage_names():  # imported once, before any fork
        stage_named(name)
    tally, stop = Tally(), time.monotonic() + seconds
    for place, precision in enumerate(PRECISIONS_IN_TURN):
        share = count * (place + 1) // 4 - count * place // 4
        builders = share // BUILDERS
        until = stop - (3 - place) * seconds / 4
        _kill_writers(folder / f"{precision}-written", precision, seed, share - builders, until, tally)
        _kill_builders(folder / f"{precision}-built", precision, seed, builders, until, tally)
    if not tally.facts.get("commits searched by readers meanwhile"):
        tally.incomplete.append("no reader ever searched")
    return tally


def _kill_writers(folder: Path, precision: Precision, seed: int, kills: int, until: float, tally: Tally) -> None:
    chance = random.Random(seed)
    first = addition(np.random.default_rng(seed), [f"d{number}" for number in range(9)])
    in_child(lambda: _write(folder, first, precision))  # a commit that a reader can search from the beginning
    reader = _Reader(folder)
    model = first.after({}, precision)
    number, longest = 0, LONGEST
    for _ in range(kills):
        if time.monotonic() > until:
            break
        seconds = chance.uniform(0, longest)
        where = f"{precision}, seed {seed}, operation {number}"
        told = _killed(lambda telling: work(folder, telling, model, precision, seed, number), seconds, tally, where)  # noqa: B023
        began, finished = told.count(b"b"), told.count(b"f")
        states = [model]
        for later in range(number, number + began):
            states.append(planned(seed, later, states[-1]).after(states[-1], precision))
        tally.count("within an operation", began > finished)
        place = _checked(folder, states, finished, precision, tally, where)
        if place is None:  # what is left is not what was committed: begin again
            break
        tally.count("after the commit of that operation", began > finished and place > finished)
        # Long enough that documents change between most kills, on a fast machine as on a busy one.
        longest = min(LONGEST_EVER, longest * (0.85 if states[place] != model else 1.2))
        tally.count("that found other documents than the last", states[place] != model)
        model, number = states[place], number + began
    reader.stop(tally, precision)


def _write(folder: Path, step: Operation, precision: Precision) -> None:
    with writing(folder, settings_of(precision)) as writer:
        step.perform(writer)


def _kill_builders(folder: Path, precision: Precision, seed: int, kills: int, until: float, tally: Tally) -> None:
    chance, generator = random.Random(seed), np.random.default_rng([seed, 2])
    where, wanted = f"{precision}, seed {seed}, a build", tally.attempts + kills
    while tally.attempts < wanted and time.monotonic() < until and not tally.failures:
        if not folder.exists():
            plan = planned_build(generator)
            whole = plan.after({}, precision)
            longest = LONGEST
        seconds = chance.uniform(0, longest)
        _killed(lambda telling: _build(folder, plan, precision, telling), seconds, tally, where)  # noqa: B023
        longest = min(LONGEST_EVER, 1.2 * longest)
        manifest = read_manifest(folder) if folder.exists() else None
        if manifest is None or manifest.trained is None:
            continue
        if manifest.building is not None:
            done = manifest.building["done"]
            tally.count("of builders, within the build")
            if manifest.documents != done:
                tally.fail("lost", f"{precision}: the manifest of a build counts {manifest.documents}, not {done}")
            continue
        if manifest.segments:
            _checked(folder, [whole], 0, precision, tally, where)
        tally.count("builds that were resumed until they were finished")
        shutil.rmtree(folder)
    if folder.exists():  # undisturbed, the last one ends with all documents
        try:
            in_child(lambda: _build(folder, plan, precision))
        except ChildError as error:
            tally.fail(error.kind, f"{where}: {error}")  # type: ignore[arg-type]
        else:
            _checked(folder, [whole], 0, precision, tally, where)


def _build(folder: Path, plan: Operation, precision: Precision, telling: int | None = None) -> None:
    if telling is not None:
        os.write(telling, b"b")
    build(folder, plan, precision)


def _killed(job: Callable[[int], None], seconds: float, tally: Tally, where: str) -> bytes:
    """Fork a worker, kill it some time after it began, and return what it has told. Counts only real kills."""
    reading, telling = os.pipe()
    worker = os.fork()
    if worker == 0:
        try:
            os.close(reading)
            job(telling)
            os._exit(0)
        except BaseException as error:
            os.write(telling, f"x {type(error).__name__}: {error}".encode())
            os._exit(1)
    os.close(telling)
    told = os.read(reading, 1)
    time.sleep(seconds)
    os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    while more := os.read(reading, 4096):
        told += more
    os.close(reading)
    told, failed, reason = told.partition(b"x ")
    code = os.waitstatus_to_exitcode(status)
    tally.attempts += code == -signal.SIGKILL
    if failed:
        tally.fail("raw", f"{where}: {reason.decode()}")
    elif code not in (0, -signal.SIGKILL):
        tally.fail("crashes", f"{where}: a worker ended with status {code}")
    return told


def _checked(
    folder: Path, states: list[Model], finished: int, precision: Precision, tally: Tally, where: str
) -> int | None:
    """The state that a folder holds, after every check of it; None if it is none of those that it may hold."""
    try:
        found = in_child(lambda: _state(folder, states, finished, precision))
    except ChildError as error:
        tally.fail(error.kind, f"{where}: {error}")  # type: ignore[arg-type]
        return None
    for sentence in found["wrong"]:
        tally.fail("wrong", f"{where}: {sentence}")
    if found["state"] is None:
        missing, extra = found["missing"], found["extra"]
        kind: Any = "lost" if missing else "phantom" if extra else "wrong"
        tally.fail(kind, f"{where}: missing {missing}, not committed {extra}, or other contents")
    place: int | None = found["state"]
    return place


def _state(folder: Path, states: list[Model], finished: int, precision: Precision) -> dict[str, Any]:
    manifest = read_manifest(folder)
    if manifest is None or manifest.trained is None or not manifest.segments:
        empty = next((place for place in range(finished, len(states)) if not states[place]), None)
        missing = [] if empty is not None else list(states[finished])
        return {"state": empty, "wrong": [], "missing": missing, "extra": []}
    model = read(folder)
    place = next((n for n in range(finished, len(states)) if _same(model, states[n], precision)), None)
    known, possible = states[finished], {identifier for state in states[finished:] for identifier in state}
    return {
        "state": place,
        "wrong": wrong_rankings(Snapshot.open(folder), model, queries()),
        "missing": [one for one in known if one not in model and all(one in state for state in states[finished:])],
        "extra": [one for one in model if one not in possible],
    }


def _same(found: Model, expected: Model, precision: Precision) -> bool:
    """Whether the documents are the same; residuals keep about the direction of vectors and not their bytes."""
    if not settings_of(precision).bits:
        return found == expected
    if _without_vectors(found) != _without_vectors(expected):
        return False
    first, second = (
        np.concatenate([np.zeros(0, np.float16), *(np.frombuffer(model[one].vectors, np.float16) for one in found)])
        for model in (found, expected)
    )
    cosines = (first.astype(np.float32) * second).reshape(-1, DIMENSIONS).sum(axis=1)
    return len(cosines) < FEW or float(cosines.mean()) > LOWEST_COSINE


def _without_vectors(model: Model) -> Model:
    return {identifier: kept._replace(vectors=b"") for identifier, kept in model.items()}


class _Seen(NamedTuple):
    searches: int
    wrong: list[str]


class _Reader:
    """A process that opens the newest commit and searches it, again and again, until it is told to stop."""

    def __init__(self, folder: Path) -> None:
        self._stop, self._result = folder.with_name(f"{folder.name}.stop"), folder.with_name(f"{folder.name}.seen")
        self._searched = folder.with_name(f"{folder.name}.searched")
        self._pid = os.fork()
        if self._pid == 0:
            try:
                seen = self._search(folder)
                self._result.write_text("\n".join([str(seen.searches), *seen.wrong]))
            finally:
                os._exit(0)

    def _search(self, folder: Path) -> _Seen:
        searches, wrong = 0, []
        while not self._stop.exists():
            try:
                index = Snapshot.open(folder)
                wrong += wrong_rankings(index, contents(index), queries())
                searches += 1
                self._searched.touch()
            except InputError as error:
                if "no documents yet" not in str(error) and "changes faster" not in str(error):
                    wrong.append(f"raw {type(error).__name__}: {error}")
            except AssertionError as error:
                wrong.append(f"the contents of a commit contradict themselves: {error}")
            except Exception as error:
                wrong.append(f"raw {type(error).__name__}: {error}")
        return _Seen(searches, wrong)

    def stop(self, tally: Tally, precision: Precision) -> None:
        """Stop the reader once it has searched, and count what it saw."""
        until = time.monotonic() + PATIENCE
        while not self._searched.exists() and time.monotonic() < until:
            time.sleep(0.01)
        self._stop.touch()
        _, status = os.waitpid(self._pid, 0)
        if status or not self._result.exists():
            tally.fail("crashes", f"{precision}: a reader ended with status {status}")
            return
        searches, *wrong = self._result.read_text().splitlines()
        tally.count("commits searched by readers meanwhile", int(searches))
        for sentence in wrong:
            tally.fail("raw" if sentence.startswith("raw ") else "wrong", f"{precision}, a reader: {sentence}")
