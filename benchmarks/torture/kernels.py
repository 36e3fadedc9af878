"""Fuzzed calls of the kernels on every path, a third of them while other threads change their arrays.

``make torture`` makes them under address and undefined-behaviour sanitizers: in the environment that ``make sanitized``
has just made, and that the variable ``SANITIZED`` names.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from torture.tally import Attack, Tally

ATTACK = Attack("Kernel calls while threads change arrays", "calls", count=10_000, quick=150, seconds=420)

ROOT = Path(__file__).parents[2]
VARIABLE = "SANITIZED"

# Calls per process; a process that died is followed by another one, which goes on with the next call.
AT_A_TIME = 1000


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Make fuzzed calls in processes that may die of them."""
    tally, stop = Tally(), time.monotonic() + seconds
    command, environment = interpreter()
    tally.facts["under sanitizers"] = int(VARIABLE in os.environ)
    if count >= ATTACK.count and VARIABLE not in os.environ:
        tally.incomplete.append(f"without sanitizers, because {VARIABLE} names no environment")
    first = 0
    while first < count and time.monotonic() < stop:
        first = _some(tally, command, environment, seed, first, min(first + AT_A_TIME, count), stop)
    return tally


def interpreter() -> tuple[str, dict[str, str]]:
    """The Python to call kernels with, and its environment."""
    paths = [str(ROOT / "benchmarks"), str(ROOT)]
    if VARIABLE not in os.environ:
        return sys.executable, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    libraries = [_library("libasan.so"), _library("libstdc++.so")]
    return str(ROOT / os.environ[VARIABLE] / "bin" / "python"), {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, str(Path(np.__file__).parents[1])]),
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
    }


def _library(name: str) -> str:
    return subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def _some(
    tally: Tally, command: str, environment: dict[str, str], seed: int, first: int, last: int, stop: float
) -> int:
    """Make calls in one process, and return the number of the call to go on with."""
    name = "the first call"
    with subprocess.Popen(
        [command, "-m", "torture.kernel_calls", str(seed), str(first), str(last)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        ended = first
        for line in process.stdout:
            state, number, what = line.rstrip("\n").split(" ", 2)
            if state == "start":
                name = f"seed {seed}, call {number}, {what}"
                continue
            ended = int(number) + 1
            tally.attempts += 1
            _count(tally, name, what)
            if time.monotonic() > stop:
                process.kill()
                return ended
        report = process.stderr.read()
    if process.returncode == 0:
        return last
    tally.attempts += 1
    lines = [line for line in report.splitlines() if "ERROR" in line or "runtime error" in line]
    tally.fail("crashes", f"{name}: exit status {process.returncode} {' '.join(lines[:1])}")
    return ended + 1


def _count(tally: Tally, name: str, what: str) -> None:
    outcome, _, detail = what.partition(" ")
    if outcome == "wrong":
        tally.fail("wrong", f"{name}: {detail}")
    elif outcome == "raw":
        tally.fail("raw", f"{name}: {detail}")
    else:
        tally.count({"right": "answered", "refused": "refused"}[outcome])
