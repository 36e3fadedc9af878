"""A clock that jumps backwards and forwards between all changes; files with times of another century."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tests.index_kills import planned
from tests.index_model import VOCABULARY, Model, read, settings_of

from chamfer.errors import DamagedError
from chamfer.index.settings import Precision
from chamfer.index.snapshot import Snapshot
from chamfer.index.soundness import files_of
from chamfer.index.writing import writing
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.names import cache_key
from chamfer.weights.token_weights import TokenWeights
from torture.subject import PRECISIONS_IN_TURN, queries
from torture.tally import Attack, Tally
from torture.truth import wrong_rankings

ATTACK = Attack("The clock moved", "jumps", count=200, quick=8, seconds=90)

# Before the epoch, at it, past 32 bits, and about now.
TIMES = (-1e9, 0.0, 1.0, 2.0**31, 2.0**32 + 5, 8e9, 1.7e9, 1.8e9)


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Change and search an index in turn, with another time for each step."""
    chance, tally, stop = random.Random(seed), Tally(), time.monotonic() + seconds
    model: Model = {}
    for number in range(count):
        if time.monotonic() > stop:
            break
        precision: Precision = PRECISIONS_IN_TURN[:2][number // 20 % 2]
        index = folder / f"index-{number // 20}"
        model = model if number % 20 else {}
        tally.attempts += 1
        now = chance.choice(TIMES)
        try:
            with _clock_at(now):
                model = _jump(index, model, precision, seed, number, now, tally)
                if model:
                    _damage(index, chance, now, tally, f"seed {seed}, jump {number} to {now:.0f}")
        except Exception as error:
            tally.fail("raw", f"seed {seed}, jump {number} to {now:.0f}: {type(error).__name__}: {error}")
            model = read(index) if index.exists() else {}
    return tally


def _jump(index: Path, model: Model, precision: Precision, seed: int, number: int, now: float, tally: Tally) -> Model:
    step = planned(seed, number, model)
    with writing(index, settings_of(precision)) as writer:
        step.perform(writer)
    model = step.after(model, precision)
    for path in index.rglob("*"):
        os.utime(path, (now, now))
    found = read(index)
    if found != model:
        tally.fail("lost", f"seed {seed}, jump {number} to {now:.0f}: not what was committed")
    if model:
        for sentence in wrong_rankings(Snapshot.open(index), model, queries()):
            tally.fail("wrong", f"seed {seed}, jump {number} to {now:.0f}: {sentence}")
    _rewrite_weights(index.parent / "weights.safetensors", number, now, tally)
    return model


def _damage(index: Path, chance: random.Random, now: float, tally: Tally, where: str) -> None:
    """A file that was found to be sound, and is then damaged at the same time as before, must be read again."""
    files = files_of(index, Snapshot.open(index, verify=True).manifest)
    folder, file = chance.choice([(folder, file) for folder, file in files if file.bytes])
    place = chance.randrange(file.bytes)
    _flip(folder / file.name, place, now)
    try:
        Snapshot.open(index, verify=True)
        tally.fail("wrong", f"{where}: damage to {file.name} was not noticed")
    except DamagedError:
        pass
    finally:
        _flip(folder / file.name, place, now)


def _flip(path: Path, place: int, now: float) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, (now, now))


def _rewrite_weights(path: Path, number: int, now: float, tally: Tally) -> None:
    """Weights of the same size and time as before must not be taken for those before."""
    before = cache_key(str(path))
    table = np.full(VOCABULARY, 1 + number, np.float32)
    TokenWeights(table, Vocabulary(tuple(f"t{place}" for place in range(VOCABULARY)), frozenset())).save(path)
    os.utime(path, (now, now))
    if cache_key(str(path)) == before:
        tally.fail("wrong", f"jump {number}: weights that changed have the key of those before")


@contextmanager
def _clock_at(now: float) -> Iterator[None]:
    """Every look at the clock shows a time that goes backwards."""
    originals, looks = (time.time, time.time_ns), iter(range(1 << 62))
    time.time, time.time_ns = lambda: now - next(looks), lambda: int(1e9 * (now - next(looks)))
    try:
        yield
    finally:
        time.time, time.time_ns = originals
