"""A short run of the campaign's fuzzed kernel calls; ``make torture`` makes 10,000 under sanitizers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chamfer.kernels import native

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not native.paths(), reason="chamfer was installed without a C++ compiler")
def test_fuzzed_kernel_calls_are_answered_right_or_refused_in_our_words() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "torture", "--quick", "--only", "kernels"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
