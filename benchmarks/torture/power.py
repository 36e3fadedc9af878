"""Power failures at every step of every commit: each legal image of the disk holds the last commit or the next."""

import itertools
import random
import resource
import shutil
import time
from pathlib import Path

import numpy as np
from tests.index_kills import planned
from tests.index_model import Model, Operation, addition, read, settings_of

from chamfer.errors import InputError
from chamfer.index import merging
from chamfer.index.manifest import read_manifest
from chamfer.index.settings import Precision
from chamfer.index.writing import writing
from torture.crash import Disk, followed
from torture.subject import PRECISIONS_IN_TURN
from torture.tally import Attack, Tally

ATTACK = Attack("Power failures at every step of a commit", "disk images", count=4000, quick=60, seconds=300)

# Shares of the unflushed changes that reach the disk: none, some, most.
KEPT = (0.0, 0.5, 0.9)
# Operations before an index begins anew, in the next precision.
OPERATIONS = 12


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Change indexes, and check an image of the disk at every step, until there were ``count``."""
    merging.FAN = 3  # segments are merged often
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 1 << 16), most))
    chance, tally, stop = random.Random(seed), Tally(), time.monotonic() + seconds
    for turn in itertools.count():
        precision = PRECISIONS_IN_TURN[turn % 4]
        world = folder / f"world-{turn}"
        world.mkdir()
        _live(world, precision, [seed, turn], count, stop, chance, tally)
        shutil.rmtree(world)
        if tally.attempts >= count or time.monotonic() > stop:
            return tally
    return tally


def _live(
    world: Path,
    precision: Precision,
    seed: list[int],
    count: int,
    stop: float,
    chance: random.Random,
    tally: Tally,
) -> None:
    """The life of one index, from its first document on."""
    disk = Disk(world)
    before: Model | None = None
    for number in range(OPERATIONS):
        step = (
            addition(np.random.default_rng(seed), [f"d{place}" for place in range(9)])
            if before is None
            else planned(seed[0] * 1000 + seed[1], number, before)
        )
        after = step.after(before or {}, precision)
        allowed: list[Model | None] = [before, after]

        def check(allowed: list[Model | None] = allowed, step: Operation = step, number: int = number) -> None:
            if tally.attempts >= count or time.monotonic() > stop:
                return
            keep = KEPT[tally.attempts % len(KEPT)]
            image = world.parent / "image"
            disk.image(image, chance, keep)
            tally.attempts += 1
            where = f"{precision}, seed {seed}, operation {number} ({step.name}), image {tally.attempts}"
            _check(image / "index", allowed, precision, tally, where)
            shutil.rmtree(image)

        with followed(disk, check), writing(world / "index", settings_of(precision)) as writer:
            step.perform(writer)
        disk.scan()
        allowed[:] = [after]  # the operation has returned, so its commit is on disk
        for _ in KEPT:
            check()
        before = after
    disk.close()


def _check(index: Path, allowed: list[Model | None], precision: Precision, tally: Tally, where: str) -> None:
    try:
        manifest = read_manifest(index) if index.exists() else None
        found = None if manifest is None or manifest.trained is None else read(index)
    except AssertionError as error:
        tally.fail("wrong", f"{where}: {str(error)[:300]}")
        return
    except (InputError, OSError) as error:
        tally.fail("lost", f"{where}: {error}")
        return
    except Exception as error:
        tally.fail("raw", f"{where}: {type(error).__name__}: {error}")
        return
    if not any(_same(found, one, precision) for one in allowed):
        missing = [one for one in allowed[0] or () if one not in (found or ())]
        kind = "lost" if missing else "phantom"
        tally.fail(kind, f"{where}: {len(found or ())} documents, of which {len(missing)} are missing")  # type: ignore[arg-type]
    elif found is not None and allowed[-1] is not None:
        tally.count("with the next commit", _same(found, allowed[-1], precision))


def _same(found: Model | None, expected: Model | None, precision: Precision) -> bool:
    if found is None or expected is None or not settings_of(precision).bits:
        return (found or None) == (expected or None)
    return _without_vectors(found) == _without_vectors(expected)


def _without_vectors(model: Model) -> Model:
    return {identifier: kept._replace(vectors=b"") for identifier, kept in model.items()}
