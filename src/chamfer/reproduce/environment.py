"""What figures were made with, kept beside them."""

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("chamfer", "numpy", "torch", "sentence-transformers", "transformers", "bm25s", "faiss-cpu", "ir-measures")


def environment() -> dict[str, Any]:
    """Machine, date, versions and, in a checkout, the commit."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str | None:
    """None for what runs from its sources, or is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit that the code is of, and whether it was changed since; None where it is installed."""
    folder = Path(__file__).parents[1]
    if shutil.which("git") is None:
        return None
    tracked, head, status = (
        subprocess.run(["git", "-C", folder, *command], capture_output=True, text=True, check=False)
        for command in (
            ["ls-files", "--error-unmatch", "tokens.py"],  # else it may be the checkout of something else
            ["rev-parse", "--short", "HEAD"],
            ["status", "--porcelain", "--", "."],
        )
    )
    return None if tracked.returncode else head.stdout.strip() + ("+changes" if status.stdout.strip() else "")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name") and line.split(":", 1)[1].strip():
            return line.split(":", 1)[1].strip()
    return platform.machine()
