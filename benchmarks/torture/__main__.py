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
from torture.table import HARM, lines
from torture.tally import Attack

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "torture.json"

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
    started, found = time.monotonic(), {}
    for name in names:
        attack: Attack = import_module(f"torture.{name}").ATTACK
        count = arguments.count or (attack.quick if arguments.quick else attack.count)
        left = arguments.minutes * 60 - (time.monotonic() - started)
        print(f"{name}: {count:,} {attack.unit}", file=sys.stderr, flush=True)
        tally = run(name, count, arguments.seed, max(1.0, min(attack.seconds, left)))
        found[name] = {"title": attack.title, "unit": attack.unit, "wanted": count, **tally}
    seconds = time.monotonic() - started
    campaign = {"seed": arguments.seed, "quick": arguments.quick, "seconds": round(seconds, 1), "attacks": found}
    print("\n".join(lines(campaign)))
    out = arguments.out or (None if arguments.quick or arguments.only or arguments.count else RESULTS)
    if out is not None:
        out.write_text(json.dumps({**campaign, **environment()}, indent=2, ensure_ascii=False) + "\n")
    failed = [name for name, one in found.items() if any(one[kind] for kind in HARM) or one["attempts"] < one["wanted"]]
    if failed:
        sys.exit(f"failed or incomplete: {', '.join(failed)}")


def attack_names() -> list[str]:
    """The files of this folder that define an ``ATTACK``, read and not imported."""
    modules = (module.name for module in iter_modules([str(HERE)]))
    return [name for name in modules if re.search(r"^ATTACK\b", (HERE / f"{name}.py").read_text(), re.MULTILINE)]


def run(name: str, count: int, seed: int, seconds: float) -> dict[str, Any]:
    """Run an attack in a process of its own, so that neither a crash nor a leak reaches the next one.

    A fork, because this process has imported everything and has no threads.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"torture-{name}-"))
    (folder / "attacked").mkdir()
    started = time.monotonic()
    process = os.fork()
    if process == 0:
        try:
            os.setsid()
            module = import_module(f"torture.{name}")
            found = module.run(count, seed=seed, folder=folder / "attacked", seconds=seconds)
            (folder / "tally.json").write_text(json.dumps(asdict(found)))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    status = _waited(process, started + seconds + GRACE)
    if (folder / "tally.json").exists():
        tally: dict[str, Any] = json.loads((folder / "tally.json").read_text())
    else:
        sentence = f"crashes: the attack itself failed, with status {status}"
        tally = {"attempts": 0, **dict.fromkeys(HARM, 0), "crashes": 1, "facts": {}, "failures": [sentence]}
    shutil.rmtree(folder, ignore_errors=True)
    return {**tally, "seconds": round(time.monotonic() - started, 1)}


def _waited(process: int, until: float) -> int:
    """Wait for a process to end; kill it and all that it has started if it does not."""
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


if __name__ == "__main__":
    main()
