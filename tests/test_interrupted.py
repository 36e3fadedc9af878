"""Ctrl-C: a command says how much is committed, an unfinished index says the same, and the next run continues."""

import subprocess
import sys
from pathlib import Path


def test_an_interrupted_command_says_what_is_committed_and_can_be_continued(
    tmp_path: Path, plain_checkpoint: Path
) -> None:
    command = [sys.executable, "-m", "tests.interruptions", str(tmp_path), str(plain_checkpoint)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 4, "two interruptions of a build, one of adding and one of encoding"
