"""The campaign of ``make torture``, a few attempts of every attack."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SERVERS = ("server", "servers")  # in test_serve_attacked.py, which needs the extra chamfer[serve]


def test_a_short_campaign_breaks_nothing(tmp_path: Path) -> None:
    folder = ROOT / "benchmarks" / "torture"
    names = [path.stem for path in sorted(folder.glob("*.py")) if "\nATTACK = " in path.read_text()]
    assert {"kills", "power", "flips", "manifests", "disk", "clock", "rivals"} <= set(names)
    left_out = {*SERVERS, *(() if os.geteuid() == 0 else ("disk",))}  # only root may mount a small disk
    chosen = ",".join(name for name in names if name not in left_out)
    command = [sys.executable, "-m", "torture", "--quick", "--only", chosen, "--out", str(tmp_path / "found.json")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "found.json").exists()
