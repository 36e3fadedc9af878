"""Manifests whose checksum is right and whose content is not: opened, searched, verified and written to."""

import copy
import json
import random
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chamfer.index.index import Index
from chamfer.index.manifest import MANIFEST
from chamfer.index.signed import checksum
from chamfer.index.snapshot import Snapshot
from chamfer.index.verify import verify
from chamfer.index.writing import writing
from torture.subject import PRECISIONS_IN_TURN, Answers, answers, make, queries, refusal
from torture.tally import Attack, Tally

ATTACK = Attack("Forged manifests", "forgeries", count=1000, quick=24, seconds=180)

# Of the wrong type, out of range, or a way out of the folder.
VALUES: list[Any] = [None, True, 0, -1, 1, 2**31, 2**63, 1e308, 0.5, [], {}, [[]], ["a", 1, "b"], [None] * 3, {"a": 1}]
VALUES += ["", "x", ".", "..", "../outside/keep", "/outside", "x/y", "\0", "\ud800", "a" * 300]

MEMORY = 1 << 33  # a forged size must not take the machine with it


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Change one to three values of a manifest, and ask everything of the index."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    chance, tally, stop = random.Random(seed), Tally(), time.monotonic() + seconds
    outside = folder / "outside" / "keep"
    outside.parent.mkdir()
    outside.write_text("not yours")
    for number in range(count):
        if time.monotonic() > stop:
            break
        index = folder / "index"
        if number % 50 == 0:  # another precision, and no damage carried over
            shutil.rmtree(folder / "whole", ignore_errors=True)
            make(folder / "whole", PRECISIONS_IN_TURN[number // 50 % 4], seed=seed)
            right = answers(Snapshot.open(folder / "whole"), queries())
        shutil.copytree(folder / "whole", index)
        forgery = forged(chance, json.loads((index / MANIFEST).read_text())["index"])
        whole = {"sha256": checksum(forgery), "index": forgery}
        (index / MANIFEST).write_text(json.dumps(whole))
        tally.attempts += 1
        _try_all(index, right, tally, f"seed {seed}, forgery {number}")
        if outside.read_text() != "not yours" or len(list(outside.parent.iterdir())) != 1:
            tally.fail("broken", f"seed {seed}, forgery {number}: a file outside the index changed")
        shutil.rmtree(index)
    return tally


def forged(chance: random.Random, content: dict[str, Any]) -> dict[str, Any]:
    """The content with a few values replaced, removed, doubled or added."""
    content = copy.deepcopy(content)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        holder, key = chance.choice(list(_places(content)))
        action = chance.random()
        if action < 0.7:
            holder[key] = copy.deepcopy(chance.choice(VALUES))
        elif action < 0.85:
            del holder[key]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder["surplus"] = copy.deepcopy(holder[key])
    return content


def _places(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 -- JSON
    """Every place inside a JSON value: its holder, and its key or number there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)


def _try_all(index: Path, right: Answers, tally: Tally, where: str) -> None:
    found: Answers = {}

    def search() -> None:
        found.update(answers(Snapshot.open(index), queries()))

    problems: list[str] = []
    attempts: dict[str, Callable[[], object]] = {
        "opened and searched": search,
        "verified": lambda: problems.extend(verify(index)),
        "described": lambda: Index.open(index).info(),
        "written to": lambda: _write(index),
    }
    refused: set[str] = set()
    for name, attempt in attempts.items():
        try:
            if refusal(attempt) is not None:
                refused.add(name)
        except Exception as error:
            tally.fail("raw", f"{where}, {name}: {type(error).__name__}: {error}")
            refused.add(name)
    if found and found != right and not problems and "verified" not in refused:
        tally.fail("wrong", f"{where}: the ranking changed, and verify found nothing")
    tally.count("refused or found" if refused or problems else "harmless")


def _write(index: Path) -> None:
    with writing(index) as writer:
        writer.delete(["d5"])
        writer.compact()
