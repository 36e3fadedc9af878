"""The reader of a file, by its format."""

from pathlib import Path

from chamfer.data.jsonlines import read_json_lines
from chamfer.data.readers.delimited import read_delimited
from chamfer.data.readers.json_file import read_json
from chamfer.data.readers.one_document import read_one
from chamfer.data.readers.parquet import read_parquet
from chamfer.data.reading import DELIMITED, FORMATS, Reading
from chamfer.data.records import Records
from chamfer.errors import InputError


def read_file(path: Path, name: str, form: str, reading: Reading) -> Records:
    """Read a file.

    Args:
        path: the file.
        name: its name, for messages.
        form: its format.
        reading: what the user says; the delimiter, and fields of JSON.
    """
    if reading.delimiter is not None and form not in DELIMITED:
        raise InputError(f"{name} is {FORMATS[form]}, which has no delimiter; leave out --delimiter")
    if form in DELIMITED:
        return read_delimited(path, name, form, reading.delimiter)
    if form == "parquet":
        return read_parquet(path, name)
    if form == "json":
        return read_json(path, name, reading.fields)
    if form == "jsonl":
        return Records((f"{name}, line {number}", record) for number, record in read_json_lines(path, name))
    return read_one(path, name, form)
