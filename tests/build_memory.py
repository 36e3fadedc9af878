"""Builds an index from a file, and prints by how many bytes the memory of the process grew meanwhile.

    python -m tests.build_memory FILE MODEL FOLDER

A process of its own, whose memory is measured once everything is imported and loaded. It counts what is resident: the
memory of the process itself, which the system cannot take back, and the pages of files that it has mapped. The limit of
a container counts the same, and also the page cache of files that are read and written, which the system frees before
it refuses or kills anything. So a build that passes here fits into such a limit. The kernel records the peak itself;
looking now and then could miss it.
"""

import sys
from pathlib import Path
from unittest.mock import patch

from chamfer.cache import encoding
from chamfer.data.corpus import documents_from
from chamfer.encode.encoder import Encoder
from chamfer.index import building, passages

# Characters, or bytes, of texts that may be in memory, and documents in a commit of the sample: small, so that a file
# of fifty megabytes is large beside them.
CHARACTERS, COMMIT = 2**21, 16


def main(path: Path, model: str, folder: Path) -> None:
    encoder = Encoder.load(model)
    few = {str(n): f"the cat {'sat ' * (n % 7)}" for n in range(300)}
    building.build_index(folder / "few", few, encoder)
    read = path.with_suffix(f".few{path.suffix}")
    assert len(documents_from(read)), "whatever reading needs is imported"
    before = reset()
    with (
        patch.object(passages, "CHUNK_CHARACTERS", CHARACTERS),
        patch.object(encoding, "COMMIT_EVERY", COMMIT),
    ):
        building.build_index(folder / "index", path, encoder)
    sys.stdout.write(f"{peak() - before}\n")


def reset() -> int:
    """Forget the peak so far, and return what is in memory."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """The most bytes that were in memory at once."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
