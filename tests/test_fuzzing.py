"""Short runs of the campaign's fuzzing; ``make torture`` makes 10,000 kernel calls under sanitizers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chamfer.kernels import native

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("attack", ["kernels", "formats"])
def test_what_is_fuzzed_is_answered_right_or_refused_in_our_words(attack: str) -> None:
    if attack == "kernels" and not native.paths():
        pytest.skip("chamfer was installed without a C++ compiler")
    done = subprocess.run(
        [sys.executable, "-m", "torture", "--quick", "--only", attack],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
