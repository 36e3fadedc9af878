"""Memory: what a build needs does not grow with the file that it reads."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chamfer.index.manifest import needed_manifest

# Words of the tiny model's vocabulary, and others that only BM25 counts.
SENTENCE = "the cat sat on a mat and the dog barks at night "
SCHEMA = pa.schema({"id": pa.string(), "text": pa.string(), "n": pa.int64()})


def write_csv(path: Path, documents: int, size: int) -> None:
    """Short documents between the long ones, whose ids are alike: sorted by id, the long ones follow each other."""
    with path.open("w") as file:
        file.write("id,text,n\n")
        for n in range(documents):
            file.write(f"long{n},{text_of(n, size)},{n}\n")
            file.writelines(f"short{n}-{m},{text_of(m, 0)},{n}\n" for m in range(3))


def write_parquet(path: Path, documents: int, size: int) -> None:
    """One row group for every 16 documents, as large as 16 of them."""
    with pq.ParquetWriter(path, SCHEMA, use_dictionary=False, compression="none", write_batch_size=1) as writer:
        for start in range(0, documents, 16):
            part = range(start, min(start + 16, documents))
            columns = {"id": [f"d{n}" for n in part], "text": [text_of(n, size) for n in part], "n": [*part]}
            writer.write_table(pa.table(columns, schema=SCHEMA))


def text_of(number: int, size: int) -> str:
    return SENTENCE * (number % 5 + 1) + "- " * (size // 2)  # dashes are no words, so BM25 is fast


def grown(path: Path, model: Path, folder: Path) -> int:
    """Bytes by which memory grew while an index was built."""
    command = [sys.executable, "-m", "tests.build_memory", *map(str, (path, model, folder))]
    environment = {**os.environ, "TMPDIR": str(folder), "ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=Path(__file__).parents[1]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_build_needs_less_memory_than_its_file(tmp_path: Path, plain_checkpoint: Path, kind: str, long: bool) -> None:
    """A build that held every text once would need more."""
    write = {"csv": write_csv, "parquet": write_parquet}[kind]
    path = tmp_path / f"c.{kind}"
    write(path, 960 if long else 480, 100_000)
    write(path.with_suffix(f".few.{kind}"), 1, 100)
    size = path.stat().st_size
    assert size > (96e6 if long else 48e6)
    growth = grown(path, plain_checkpoint, tmp_path)
    manifest = needed_manifest(tmp_path / "index")
    assert len(manifest.segments) < 16, "segments were merged, more than once"
    assert growth < 32 << 20, f"memory grew by {growth / 1e6:.0f} of {size / 1e6:.0f} MB"
