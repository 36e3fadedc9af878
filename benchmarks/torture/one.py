"""Runs one attack in this process: ``python -m torture.one NAME COUNT SEED SECONDS FOLDER RESULT``."""

import json
import logging
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path


def main(name: str, count: str, seed: str, seconds: str, folder: str, result: str) -> None:
    """Run an attack and write its tally as JSON."""
    logging.getLogger("chamfer").setLevel(logging.ERROR)  # warnings of what is mended by itself
    attack = import_module(f"torture.{name}")
    tally = attack.run(int(count), seed=int(seed), folder=Path(folder), seconds=float(seconds))
    Path(result).write_text(json.dumps(asdict(tally)))


if __name__ == "__main__":
    main(*sys.argv[1:])
