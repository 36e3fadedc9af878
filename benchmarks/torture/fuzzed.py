"""Weights files from atheris, a coverage-guided fuzzer; where it is not installed, with random bytes."""

import random
import subprocess
import sys
import time
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np

from chamfer.errors import InputError
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.files import read_weights
from chamfer.weights.token_weights import TokenWeights
from torture.tally import Attack, Tally

ATTACK = Attack("Fuzzed weights files", "files", count=20_000, quick=500, seconds=180)

WORDS = Vocabulary(("[CLS]", "the", "cat", "é"), frozenset({0}))


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Read files that begin as good ones and change byte by byte."""
    tally = Tally()
    _write_good(folder)
    if find_spec("atheris") is not None:
        arguments = [f"-runs={count}", f"-seed={seed + 1}", f"-max_total_time={int(seconds)}", "-max_len=4096"]
        command = [sys.executable, "-m", "torture.guided", str(folder), *arguments, f"-artifact_prefix={folder}/"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 60)
        told = [line for line in ended.stderr.splitlines() if line.startswith("stat::number_of_executed_units")]
        tally.attempts = int(told[-1].split()[-1]) if told else 0
        tally.count("chosen by atheris", tally.attempts)
        if ended.returncode:
            tally.fail(
                "crashes" if ended.returncode < 0 else "raw", f"seed {seed}: {(ended.stdout + ended.stderr)[-300:]}"
            )
        return tally
    chance, stop = random.Random(seed), time.monotonic() + seconds
    good = [path.read_bytes() for path in sorted((folder / "good").iterdir())]
    while tally.attempts < count and time.monotonic() < stop:
        data = bytearray(chance.choice(good))
        for _ in range(chance.choice([1, 1, 2, 4, 8])):
            at = chance.randrange(1, len(data))
            data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
        tally.attempts += 1
        try:
            read(bytes(data), folder)
        except Exception as error:
            tally.fail("raw", f"seed {seed}, file {tally.attempts}: {type(error).__name__}: {error}"[:300])
    return tally


def read(data: bytes, folder: Path) -> None:
    """Read a file whose first byte says how; what is accepted must be usable."""
    how, content = data[:1], data[1:]
    try:
        if how in (b"a", b"b"):
            weights = TokenWeights(*read_weights(BytesIO(content), "fuzzed", WORDS if how == b"a" else None))
        else:
            path = folder / ("fuzzed.json" if how == b"j" else "fuzzed.txt")
            path.write_bytes(content)
            weights = TokenWeights.load(path, WORDS)
    except InputError:
        return
    weights.extremes(2)
    weights.check_tokenizer(weights.vocabulary)


def _write_good(folder: Path) -> None:
    context = TokenWeights(
        np.ones(4, np.float32), WORDS, {"recipe": "a", "b": [1, {"c": None}]}, np.ones(2, np.float32)
    )
    made = [TokenWeights.uniform(WORDS), context]
    (folder / "good").mkdir()
    for number, weights in enumerate(made):
        weights.save(folder / "saved.safetensors")
        for how in (b"a", b"b"):
            content = (folder / "saved.safetensors").read_bytes()
            (folder / "good" / f"{number}{how.decode()}").write_bytes(how + content)
    (folder / "good" / "json").write_bytes(b'j{"cat": 1, "the": 2.5e3}')
    (folder / "good" / "text").write_bytes(b"tcat\t1\nthe\t2.5e3\n")
