"""Files of every format that users bring, mutated by atheris, a fuzzer that follows which lines it reaches.

``make torture`` installs it. Without it, mutations are random, which is enough for a short run. It would not help with
the kernels: what it follows is Python, and C++ only if clang compiled it.
"""

import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from torture.tally import Attack, Tally

ATTACK = Attack("Mutated files of every format", "files", count=50_000, quick=900, seconds=240)


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Fuzz each parser in a process of its own."""
    from torture.format_fuzzer import PARSERS, fuzz  # here, because it imports what it fuzzes

    tally, stop = Tally(), time.monotonic() + seconds
    tally.facts["guided by coverage"] = int(find_spec("atheris") is not None)
    if count >= ATTACK.count and not tally.facts["guided by coverage"]:
        tally.incomplete.append("atheris is not installed")
    each = -(-count // len(PARSERS))
    for number, name in enumerate(PARSERS):
        if time.monotonic() > stop:
            break
        own = folder / str(number)
        own.mkdir()
        failures = own / "failures.txt"
        failures.touch()
        tally.attempts += each
        if not tally.facts["guided by coverage"]:
            fuzz(name, each, seed, own)
            _collect(tally, failures)
            continue
        command = [sys.executable, "-m", "torture.format_fuzzer", name, str(each), str(seed), str(own)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=max(1, stop - time.monotonic())
            )
        except subprocess.TimeoutExpired:
            tally.attempts -= each
            break
        if done.returncode:
            tally.fail("crashes", f"{name}: exit status {done.returncode}: {done.stderr[-300:]}")
        _collect(tally, failures)
    return tally


def _collect(tally: Tally, failures: Path) -> None:
    for sentence in failures.read_text().splitlines():
        tally.fail("raw", sentence)
