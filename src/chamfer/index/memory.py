"""How much memory this process uses for memory-mapped files."""

import mmap
from pathlib import Path

# Linux reports it here. Other systems have no such file, and no cheap way to ask.
STATM = Path("/proc/self/statm")


def resident_file_bytes() -> int | None:
    """Resident bytes of all files that this process has mapped, libraries included; None except on Linux."""
    try:
        shared = int(STATM.read_text().split()[2])
    except FileNotFoundError:
        return None
    return shared * mmap.PAGESIZE


class Growth:
    """How much the resident memory for mapped files has grown since a starting point."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Measure from now on."""
        self._before = resident_file_bytes()

    def measure(self) -> int:
        """Bytes since the start, or since the minimum after it, so that closing another index does not hide growth.

        0 where the system does not report it.
        """
        now = resident_file_bytes()
        if now is None or self._before is None:
            return 0
        self._before = min(self._before, now)
        return now - self._before
