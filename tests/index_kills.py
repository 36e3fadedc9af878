"""Kills processes that change an index, again and again, and compares what is left with a model.

    python -m tests.index_kills FOLDER PRECISION SEED KILLS

A process of its own, because it forks: it imports everything once, has no threads, and each worker is a fork of it.
"""

import itertools
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from chamfer.index import merging
from chamfer.index.settings import Precision
from chamfer.index.writing import writing
from tests.index_model import Model, Operation, operation, read, settings_of

# Longer than most operations take, so that kills come at all points of them.
LONGEST = 0.08


def main(folder: Path, precision: Precision, seed: int, kills: int) -> None:
    merging.FAN = 3  # segments are merged often
    chance = random.Random(seed)
    settings = settings_of(precision)
    with writing(folder, settings):
        pass
    model: Model = {}
    number = within = committed = 0
    for _ in range(kills):
        reading, telling = os.pipe()
        worker = os.fork()
        if worker == 0:
            try:
                work(folder, telling, model, precision, seed, number)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        os.close(telling)
        told = os.read(reading, 1)
        time.sleep(chance.uniform(0, LONGEST))
        os.kill(worker, signal.SIGKILL)
        _, status = os.waitpid(worker, 0)
        assert os.WIFSIGNALED(status), "the worker failed"
        while more := os.read(reading, 4096):
            told += more
        os.close(reading)
        began, finished = told.count(b"b"), told.count(b"f")
        states = [model]
        for later in range(number, number + began):
            states.append(planned(seed, later, states[-1]).after(states[-1], precision))
        found = read(folder)
        assert found in states[finished:], f"kill in operation {number + began - 1}: a state that was never committed"
        within += began > finished
        committed += began > finished and found != states[finished]
        model, number = found, number + began
    sys.stdout.write(f"{kills} kills, {within} within an operation, {committed} after its commit\n")


def planned(seed: int, number: int, model: Model) -> Operation:
    return operation(np.random.default_rng([seed, number]), model)


def work(folder: Path, telling: int, model: Model, precision: Precision, seed: int, first: int) -> None:
    """Perform one operation after the other, and tell of each when it begins and when it is finished."""
    for number in itertools.count(first):
        chosen = planned(seed, number, model)
        os.write(telling, b"b")
        with writing(folder) as writer:
            chosen.perform(writer)
        os.write(telling, b"f")
        model = chosen.after(model, precision)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))  # type: ignore[arg-type]
