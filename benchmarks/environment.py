"""What a measurement was made on, kept beside every figure."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "torch", "sentence-transformers", "transformers", "bm25s", "ir-measures")


def environment() -> dict[str, Any]:
    """Machine, commit and versions."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run(
        ["git", "status", "--porcelain", "src", "native"], capture_output=True, text=True, check=False
    )
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip() + ("+changes" if changed.stdout.strip() else ""),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name") and line.split(":", 1)[1].strip():
            return line.split(":", 1)[1].strip()
    return platform.machine()
