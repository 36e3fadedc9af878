"""Files of judgements that clients send: read as the library reads them, within limits."""

from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from chamfer.data.judged import Judged, read_judged
from chamfer.data.judged_source import JudgedSource
from chamfer.data.judgement_files import read_judgement_file
from chamfer.data.readers.formats import SUFFIXES, held_by
from chamfer.errors import InputError
from chamfer.serve.limits import BODY_VALUES
from chamfer.support.files import errors_name

# What separates the values of a table, and those of JSON.
SEPARATORS = (b"\n", b"\r", b",", b";", b"\t", b"[", b"{")


class LargeFileError(InputError):
    """The file has more values or queries than a server reads."""


def read_file(content: bytes, name: str) -> Judged:
    """Read the queries of a file, and their judgements.

    Args:
        content: the file.
        name: its name without folders, whose suffix says the format where the content leaves a choice.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if held_by(content, None) == "parquet" or SUFFIXES.get(suffix) == "parquet":
        # A few kilobytes of it can be as many gigabytes in memory.
        raise InputError(f"{name} is Parquet, which a server does not read; save it as CSV, or use chamfer evaluate")
    if sum(map(content.count, SEPARATORS)) > BODY_VALUES:
        raise LargeFileError(
            f"{name} has more than {BODY_VALUES:,} values, which is more than a server reads; use chamfer evaluate"
        )
    with TemporaryDirectory(prefix="chamfer-") as folder:
        path = Path(folder) / f"judged{suffix if suffix in SUFFIXES else ''}"
        with errors_name(path):
            path.write_bytes(content)
        return read_judged(None, JudgedSource(name, read_judgement_file(path, name)))


def file_name(sent: str) -> str:
    r"""The name of a file, without folders.

    >>> file_name("C:\\data\\judged.csv"), file_name("/")
    ('judged.csv', 'the file')
    """
    return PurePosixPath(sent.replace("\\", "/")).name or "the file"
