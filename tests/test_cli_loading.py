"""What a person at a terminal reads while a model is loaded."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.conftest import write_lines


def test_a_person_reads_that_the_model_is_loaded_before_torch_is_imported(
    plain_checkpoint: Path, tmp_path: Path
) -> None:
    """A stand-in for torch tells when the real one would have begun to take its seconds."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("import os\nos.write(2, b'torch is imported')\nos._exit(7)\n")
    write_lines(tmp_path / "corpus.jsonl", [{"_id": "a", "text": "the cat sat"}])
    command = ["index", "build", "corpus.jsonl", "--out", "index", "--encoder", str(plain_checkpoint)]
    seen, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from chamfer.cli.app import main; main()", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "COLUMNS": "400"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    read = b""
    try:
        while part := os.read(seen, 1 << 16):
            read += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(seen)
    told = read.decode()
    assert process.wait(30) == 7, told
    assert 0 <= told.find(f"loading the model {plain_checkpoint} ...") < told.find("torch is imported"), told
