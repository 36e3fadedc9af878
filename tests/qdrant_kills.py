"""Kills processes that push an index into Qdrant's engine, again and again, and looks at what the last one leaves.

    python -m tests.qdrant_kills INDEX FOLDER SEED KILLS

A process of its own, because it forks: the engine's threads do not survive that, so only the workers open it.
"""

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from chamfer.index.snapshot import Snapshot
from chamfer.integrations.qdrant import Pushed, pushing
from chamfer.integrations.qdrant.edge import EdgeClient
from chamfer.integrations.qdrant.pushing import push_snapshot
from chamfer.support.progress import Advance, Progress, quiet

# Two or three of the documents in a request.
pushing.TOKENS_PER_REQUEST = 8

# About as long as a request takes, so that kills come at all points of it.
LONGEST = 0.01


def main(index: Path, folder: Path, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    within = 0
    for number in range(kills):
        requests = 2 * number + chance.randrange(3)  # further every time, and once before there is anything
        reading, telling = os.pipe()
        worker = os.fork()
        if worker == 0:
            try:
                work(index, folder, partial(pause_after, requests, telling))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(telling)
        if requests:
            os.read(reading, 1)
        time.sleep(chance.uniform(0, LONGEST))
        os.kill(worker, signal.SIGKILL)
        _, status = os.waitpid(worker, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "a worker failed"
        within += os.WIFSIGNALED(status)
        os.close(reading)
    pushed = work(index, folder, quiet)
    sys.stdout.write(f"{within} kills within a push; the last one sent {pushed.sent} and kept {pushed.kept}\n")


def work(index: Path, folder: Path, progress: Progress) -> Pushed:
    client = EdgeClient(folder)
    try:
        return push_snapshot(client, "killed", Snapshot.open(index), progress=progress)
    finally:
        client.close()


@contextmanager
def pause_after(requests: int, telling: int, _what: str, _total: int) -> Iterator[Advance]:
    """Tell when this many requests are answered, and wait to be killed after the next one."""
    answered = 0

    def advance(_done: int) -> None:
        nonlocal answered
        answered += 1
        if answered == requests:
            os.write(telling, b".")
        elif answered > requests:
            signal.alarm(60)  # in case nobody kills
            signal.pause()

    yield advance


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
