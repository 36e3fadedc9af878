"""Run all attacks with one seed, print a table and write ``results/torture.json``.

PYTHONPATH=benchmarks python -m torture [--quick] [--only kills,flips] [--seed 0]
"""

import argparse
import json
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from chamfer.reproduce.environment import environment
from torture.table import HARM, is_incomplete, lines
from torture.tally import Attack, Tally

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "torture.json"

# Attacks at once: most use one core.
AT_ONCE = 2

# What an attack may take longer than its limit, to end its last attempt; after that it counts as hung.
GRACE = 120


def main() -> None:
    """Run the attacks; exit with 1 if anything failed or is incomplete."""
    parser = argparse.ArgumentParser(description="Attack the project, and count what breaks.")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--quick", action="store_true", help="a few seconds per attack; writes no results by default")
    parser.add_argument("--only", help="names of attacks, separated by commas")
    parser.add_argument("--count", type=int, help="attempts of each attack")
    parser.add_argument("--minutes", type=float, default=30, help="time limit")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    arguments = parser.parse_args()
    logging.getLogger("chamfer").setLevel(logging.ERROR)  # warnings of what is mended by itself
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    names = arguments.only.split(",") if arguments.only else attack_names()
    attacks: dict[str, Attack] = {name: import_module(f"torture.{name}").ATTACK for name in names}
    counts = {name: arguments.count or (one.quick if arguments.quick else one.count) for name, one in attacks.items()}
    started = time.monotonic()
    stop, found = started + arguments.minutes * 60, {}
    waiting, running = sorted(names, key=lambda name: (attacks[name].alone, -attacks[name].seconds)), list[Run]()
    while waiting or running:
        if waiting and len(running) < (1 if attacks[waiting[0]].alone else AT_ONCE):
            name = waiting.pop(0)
            print(f"{name}: {counts[name]:,} {attacks[name].unit}", file=sys.stderr, flush=True)
            seconds = max(1.0, min(attacks[name].seconds, stop - time.monotonic()))
            running.append(Run(name, counts[name], arguments.seed, seconds))
        for one in [one for one in running if one.has_ended()]:
            running.remove(one)
            attack = attacks[one.name]
            described = {"title": attack.title, "unit": attack.unit, "wanted": counts[one.name]}
            found[one.name] = {**described, **one.result()}
        time.sleep(0.02)
    found = {name: found[name] for name in names}
    seconds = time.monotonic() - started
    campaign = {"seed": arguments.seed, "quick": arguments.quick, "seconds": round(seconds, 1), "attacks": found}
    print("\n".join(lines(campaign)))
    out = arguments.out or (None if arguments.quick or arguments.only or arguments.count else RESULTS)
    if out is not None:
        out.write_text(json.dumps({**campaign, **environment()}, indent=2, ensure_ascii=False) + "\n")
    failed = [name for name, one in found.items() if any(one[kind] for kind in HARM) or is_incomplete(one)]
    if failed:
        sys.exit(f"failed or incomplete: {', '.join(failed)}")


def attack_names() -> list[str]:
    """The files of this folder that define an ``ATTACK``, read and not imported."""
    modules = (module.name for module in iter_modules([str(HERE)]))
    return [name for name in modules if re.search(r"^ATTACK\b", (HERE / f"{name}.py").read_text(), re.MULTILINE)]


class Run:
    """An attack in a process of its own, so that neither a crash nor a leak reaches the others.

    A fork, because this process has imported everything and has no threads.
    """

    def __init__(self, name: str, count: int, seed: int, seconds: float) -> None:
        self.name, self._started = name, time.monotonic()
        self._until, self._status = self._started + seconds + GRACE, 0
        self._folder = Path(tempfile.mkdtemp(prefix=f"torture-{name}-"))
        self._process = os.fork()
        if self._process == 0:
            try:
                os.setsid()
                (self._folder / "attacked").mkdir()
                module = import_module(f"torture.{name}")
                found = module.run(count, seed=seed, folder=self._folder / "attacked", seconds=seconds)
                (self._folder / "tally.json").write_text(json.dumps(asdict(found)))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)

    def has_ended(self) -> bool:
        """Whether it is over; one that hangs is killed with all that it has started."""
        ended, status = os.waitpid(self._process, os.WNOHANG)
        if not ended and time.monotonic() > self._until:
            os.killpg(self._process, signal.SIGKILL)
            ended, status = os.waitpid(self._process, 0)
        self._status = os.waitstatus_to_exitcode(status)
        return bool(ended)

    def result(self) -> dict[str, Any]:
        """What it counted."""
        if (self._folder / "tally.json").exists():
            tally: dict[str, Any] = json.loads((self._folder / "tally.json").read_text())
        else:
            sentence = f"crashes: the attack itself failed, with status {self._status}"
            tally = asdict(Tally(crashes=1, failures=[sentence]))
        shutil.rmtree(self._folder, ignore_errors=True)
        return {**tally, "seconds": round(time.monotonic() - self._started, 1)}


if __name__ == "__main__":
    main()
