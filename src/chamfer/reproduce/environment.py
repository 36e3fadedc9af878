"""Machine, date and versions, saved with results."""

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "chamfer",
    "numpy",
    "torch",
    "sentence-transformers",
    "transformers",
    "tokenizers",
    "openvino",
    "bm25s",
    "faiss-cpu",
    "ir-measures",
)


def environment() -> dict[str, Any]:
    """Describe the machine, the date, the versions and, in a git checkout, the commit."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "processor": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the running code, and whether it has uncommitted changes; None outside a git checkout."""
    folder = Path(__file__).parents[1]
    if shutil.which("git") is None:
        return None
    tracked, head, status = (
        subprocess.run(["git", "-C", folder, *command], capture_output=True, text=True, check=False)
        for command in (
            ["ls-files", "--error-unmatch", "reproduce/environment.py"],  # else the checkout is of something else
            ["rev-parse", "--short", "HEAD"],
            ["status", "--porcelain", "--", "."],
        )
    )
    return None if tracked.returncode else head.stdout.strip() + ("+changes" if status.stdout.strip() else "")


def _cpu() -> str:
    described = Path("/proc/cpuinfo")
    for line in described.read_text().splitlines() if described.is_file() else ():  # only Linux has it
        if line.startswith("model name") and line.split(":", 1)[1].strip():
            return line.split(":", 1)[1].strip()
    return platform.machine()
