"""Runs atheris on weights files in this process, which ends with it: ``python -m torture.guided FOLDER OPTION...``."""

import sys
from pathlib import Path

import atheris

# Whose branches the fuzzer follows; they must be imported here first.
FOLLOWED = ["chamfer.weights", "chamfer.support.plain_json", "chamfer.tokens.vocabulary", "json"]

with atheris.instrument_imports(include=FOLLOWED):
    from torture.fuzzed import read


def main(folder: str, *options: str) -> None:
    """Fuzz, beginning with the good files of a folder; see libFuzzer for the options."""
    arguments = [sys.argv[0], f"{folder}/good", *options, "-print_final_stats=1"]
    atheris.Setup(arguments, lambda data: read(data, Path(folder)))
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
