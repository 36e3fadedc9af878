"""Flipped bytes in committed and derived files, searched before and after ``verify``."""

import json
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

from chamfer.errors import InputError
from chamfer.index import derived as derived_files
from chamfer.index import soundness
from chamfer.index.derived import DERIVED
from chamfer.index.settings import Precision
from chamfer.index.snapshot import Snapshot
from chamfer.index.verify import verify
from chamfer.retrieve.stages import stage_named, stage_names
from torture.forked import ChildError, in_child
from torture.subject import PRECISIONS_IN_TURN, Answers, answers, make, queries
from torture.tally import Attack, Tally

ATTACK = Attack("Flipped bytes in committed and derived files", "flips", count=5200, quick=48, seconds=420)

# Flips of one child; damage that crashes a process must be attributed to one of a few.
AT_ONCE = 40

# Up to which size an index, and a derived file, is read whole when it is opened: as released, and as if all were large.
READ_WHOLE = ((soundness.SMALL_INDEX, derived_files.SMALL), (0, -1))


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Flip one byte at a time, in a file chosen evenly so that small files are hit as often as large ones."""
    for name in stage_names():  # imported once, before any fork
        stage_named(name)
    os.fsync = lambda fd: None  # no power fails here, and derived files are computed again and again
    tally, stop = Tally(), time.monotonic() + seconds
    wholes = {precision: folder / precision for precision in PRECISIONS_IN_TURN}
    for precision, whole in wholes.items():
        in_child(lambda: _prepare(whole, precision, seed))  # noqa: B023 -- called at once
    started = 0
    while started < count and time.monotonic() < stop:
        precision = PRECISIONS_IN_TURN[started // AT_ONCE % 4]
        several = range(started, min(started + AT_ONCE, count))
        try:
            _add(tally, in_child(lambda: _flip_several(wholes[precision], folder, seed, several), seconds=120))  # noqa: B023
        except ChildError:  # one of them ended the process: which?
            for number in several:
                try:
                    one = in_child(lambda: _flip_several(wholes[precision], folder, seed, range(number, number + 1)))  # noqa: B023
                    _add(tally, one)
                except ChildError as error:
                    tally.attempts += 1
                    tally.fail(error.kind, f"{precision}, seed {seed}, flip {number}: {error}")  # type: ignore[arg-type]
        started = several.stop
    return tally


def _prepare(whole: Path, precision: Precision, seed: int) -> None:
    make(whole, precision, seed=seed)
    answers(Snapshot.open(whole), queries())  # computes the derived files


def _add(tally: Tally, found: dict[str, Any]) -> None:
    tally.attempts += found["attempts"]
    for kind, what in found["failures"]:
        tally.fail(kind, what)
    for fact, number in found["facts"].items():
        tally.count(fact, number)


def _flip_several(whole: Path, folder: Path, seed: int, numbers: range) -> dict[str, Any]:
    right = answers(Snapshot.open(whole), queries())
    index = folder / "flipped"
    shutil.rmtree(index, ignore_errors=True)
    shutil.copytree(whole, index)
    found: dict[str, Any] = {"attempts": 0, "failures": [], "facts": {}}
    for number in numbers:
        soundness.SMALL_INDEX, derived_files.SMALL = READ_WHOLE[number % 2]
        chance = random.Random(f"{seed} {number}")
        path = chance.choice(sorted(one for one in whole.rglob("*") if one.is_file() and one.stat().st_size))
        damaged = index / path.relative_to(whole)
        content = bytearray(path.read_bytes())
        place = chance.randrange(len(content))
        content[place] ^= chance.randrange(1, 256)
        damaged.write_bytes(content)
        where = f"{whole.name}, seed {seed}, flip {number}: byte {place} of {path.relative_to(whole)}"
        _look(index, damaged, right, where, found, is_harmless=_is_same_json(path.read_bytes(), bytes(content)))
        found["attempts"] += 1
        if DERIVED in damaged.relative_to(index).parts:  # they may have been computed again
            shutil.rmtree(damaged.parent, ignore_errors=True)
        shutil.copytree(path.parent, damaged.parent, dirs_exist_ok=True)
    return found


def _is_same_json(before: bytes, after: bytes) -> bool:
    """Whether only white space differs."""
    try:
        return bool(json.loads(before) == json.loads(after))
    except ValueError:
        return False


def _look(index: Path, damaged: Path, right: Answers, where: str, found: dict[str, Any], *, is_harmless: bool) -> None:
    """Verify and search an index with one damaged file."""

    def count(fact: str) -> None:
        found["facts"][fact] = found["facts"].get(fact, 0) + 1

    try:
        problems = verify(index)
    except Exception as error:
        found["failures"].append(["raw", f"{where}: verify: {type(error).__name__}: {error}"])
        return
    try:
        named = [stage for stage in right if damaged.parent.name.startswith(stage)]
        stages = named or ["exhaustive", "centroids", "bm25"]  # the others would score the same candidates
        found_now = answers(Snapshot.open(index), queries(), stages=stages)
        is_right = found_now == {stage: right[stage] for stage in stages}
        refused = False
    except InputError:
        is_right, refused = True, True
        count("refused when opened or searched")
    except Exception as error:
        found["failures"].append(["raw", f"{where}: {type(error).__name__}: {error}"])
        return
    if not is_right:
        count("rankings changed in silence before verify")
    if problems:
        count("found by verify")
    elif not is_right:
        found["failures"].append(["wrong", f"{where}: the ranking changed, and verify finds nothing"])
    elif not is_harmless and not refused:
        found["failures"].append(["wrong", f"{where}: verify finds nothing"])
    else:
        count("refused, though verify finds nothing" if refused else "harmless")
