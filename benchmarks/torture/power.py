"""Power failures at every step of every commit: each legal image of the disk holds the last commit or the next."""

import itertools
import random
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.index_kills import planned
from tests.index_model import Model, Operation, addition, read, settings_of

from chamfer.errors import InputError
from chamfer.index import merging
from chamfer.index.manifest import read_manifest
from chamfer.index.settings import Precision
from chamfer.index.writing import writing
from torture.commits import (
    Stored,
    build,
    change_versions,
    changes_of_versions,
    check_build,
    check_versions,
    documents_built,
    finish_build,
    planned_build,
)
from torture.crash import Disk, followed
from torture.subject import PRECISIONS_IN_TURN
from torture.tally import Attack, Tally

ATTACK = Attack("Power failures at every step of a commit", "disk images", count=4000, quick=60, seconds=300)

# Shares of the unflushed changes that reach the disk: none, some, most.
KEPT = (0.0, 0.5, 0.9)
# Steps from one image to the next in a short campaign, so that it gets beyond the first commits.
STRIDE = 13
# Operations before an index begins anew, in the next precision.
OPERATIONS = 12


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Check an image of the disk at every step of builds, of versions of weights and of changes, ``count`` in all."""
    merging.FAN = 3  # segments are merged often
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 1 << 16), most))
    chance, tally, stop = random.Random(seed), Tally(), time.monotonic() + seconds
    for life, until in ((_build, count // 5), (_version, 2 * count // 5), (_live, count)):
        for turn in itertools.count():
            if tally.attempts >= until or time.monotonic() > stop:
                break
            root = folder / f"{life.__name__}-{turn}"
            root.mkdir()
            world = _World(root, until, 1 if count >= ATTACK.count else STRIDE, stop, chance, tally)
            life(world, PRECISIONS_IN_TURN[turn % 4], [seed, turn])
            world.close()
    return tally


class _World:
    """A folder on a disk that loses its power at every step.

    Args:
        root: the folder, which is removed in the end.
        most: images to check in all.
        stride: steps from one image to the next.
        stop: when to check no more of them.
        chance: what reaches the disk.
        tally: what came of it.
    """

    def __init__(self, root: Path, most: int, stride: int, stop: float, chance: random.Random, tally: Tally) -> None:
        self.root, self.tally = root, tally
        self._most, self._stride, self._stop, self._chance = most, stride, stop, chance
        self._disk, self._steps = Disk(root), 0

    def perform(self, step: Callable[[], object], check: Callable[[Path, str], None]) -> None:
        """Take a step, and call ``check`` with an image at every point of it."""
        with followed(self._disk, lambda: self._image(check)):
            step()
        self._disk.scan()

    def rest(self, check: Callable[[Path, str], None]) -> None:
        """Check images now that nothing happens."""
        for _ in KEPT:
            self._image(check)

    def _image(self, check: Callable[[Path, str], None]) -> None:
        self._steps += 1
        if self._steps % self._stride or self.tally.attempts >= self._most or time.monotonic() > self._stop:
            return
        image = self.root.with_name("image")
        self._disk.image(image, self._chance, KEPT[self.tally.attempts % len(KEPT)])
        self.tally.attempts += 1
        where = f"image {self.tally.attempts}"
        try:
            check(image, where)
        except InputError as error:
            self.tally.fail("lost", f"{where}: {error}")
        except Exception as error:
            self.tally.fail("raw", f"{where}: {type(error).__name__}: {error}")
        shutil.rmtree(image)

    def close(self) -> None:
        """Let go of all files, and remove the folder."""
        self._disk.close()
        shutil.rmtree(self.root)


def _build(world: _World, precision: Precision, seed: list[int]) -> None:
    """A build, of which every part is a commit; in every image it can be continued to its end."""
    plan = planned_build(np.random.default_rng(seed))
    whole = plan.after({}, precision)
    seen = [0]  # numbers of documents that were committed, the last perhaps not on disk yet

    def check(image: Path, where: str) -> None:
        if (now := documents_built(world.root / "index")) != seen[-1]:
            seen.append(now)
        where = f"a build, {precision}, seed {seed}, {where}"
        check_build(image / "index", set(seen[-2:]), world.tally, where)
        world.tally.count("of builds")
        if not _same(finish_build(image / "index", plan, precision), whole, precision):
            world.tally.fail("wrong", f"{where}: other documents when it is continued")

    world.perform(lambda: build(world.root / "index", plan, precision), check)
    seen[:] = [len(whole)]
    world.rest(check)


def _version(world: _World, _precision: Precision, seed: list[int]) -> None:
    """Versions of weights; each change of them is a commit."""
    folder, changes = world.root / "weights", changes_of_versions(seed[0] * 1000 + seed[1])
    allowed: list[Stored] = []

    def check(image: Path, where: str) -> None:
        world.tally.count("of versions of weights")
        check_versions(image / "weights", allowed, world.tally, f"versions of weights, seed {seed}, {where}")

    for change in (None, *changes):
        copied = world.root.with_name("copied")
        if change is not None:
            shutil.copytree(folder, copied)
        allowed.append(change_versions(copied, change))
        shutil.rmtree(copied)
        world.perform(lambda: change_versions(folder, change), check)  # noqa: B023
        del allowed[:-1]
        world.rest(check)


def _live(world: _World, precision: Precision, seed: list[int]) -> None:
    """The life of one index, from its first document on."""
    before: Model | None = None
    for number in range(OPERATIONS):
        step = (
            addition(np.random.default_rng(seed), [f"d{place}" for place in range(9)])
            if before is None
            else planned(seed[0] * 1000 + seed[1], number, before)
        )
        after = step.after(before or {}, precision)
        allowed: list[Model | None] = [before, after]
        told = f"{precision}, seed {seed}, operation {number} ({step.name})"

        def check(image: Path, where: str, allowed: list[Model | None] = allowed, told: str = told) -> None:
            _check(image / "index", allowed, precision, world.tally, f"{told}, {where}")

        def perform(step: Operation = step) -> None:
            with writing(world.root / "index", settings_of(precision)) as writer:
                step.perform(writer)

        world.perform(perform, check)
        allowed[:] = [after]  # the operation has returned, so its commit is on disk
        world.rest(check)
        before = after


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
