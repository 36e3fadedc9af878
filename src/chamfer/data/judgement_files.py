"""Files of judgements: which format they have, and their rows."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chamfer.data.jsonlines import read_json_lines
from chamfer.data.judged_columns import EXAMPLE, names_judgements
from chamfer.data.readers.delimited import DELIMITERS, read_delimited
from chamfer.data.readers.formats import SUFFIXES, binary_format, head_of
from chamfer.data.readers.json_file import json_value, records_of_array
from chamfer.data.readers.parquet import read_parquet
from chamfer.data.readers.qrels import is_qrels, read_qrels
from chamfer.data.reading import DELIMITED, FORMATS, in_words, note
from chamfer.data.records import Records
from chamfer.errors import InputError

RULE = "write an array of objects with 'query' and 'document', an object of relevant ids by query, or JSON lines"
"""What a file of JSON may hold."""


def read_judgement_file(path: Path, name: str = "") -> Records | Mapping[str, Any]:
    """Read CSV, TSV, JSON, JSON lines, Parquet, or judgements as BEIR and TREC write them.

    Args:
        path: the file; what it holds decides, and its suffix where that leaves a choice.
        name: its name in messages; the path by default.

    Returns:
        The rows of a table, or of JSON an object from queries to their documents.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path} with judgements")
    name = name or str(path)
    form, head = SUFFIXES.get(path.suffix.lower()), head_of(path, name)
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not begins and form not in ("parquet", "pdf"):
        return {}
    held = binary_format(head, name, form)
    if held == "parquet":
        return read_parquet(path, name)
    if held is not None:
        raise InputError(f"{name} is {FORMATS[held]}, but judgements are a table; save them as CSV: {EXAMPLE}")
    if form in ("json", "jsonl") or begins.startswith((b"{", b"[")):
        return _of_json(path, name, form, begins)
    line = begins.splitlines()[0].decode("utf-8", "replace")
    return _of_text(path, name, form, line)


def _of_json(path: Path, name: str, form: str | None, begins: bytes) -> Records | Mapping[str, Any]:
    if form == "jsonl" or (begins.startswith(b"{") and _is_json_lines(begins)):
        if form == "json":
            note(f"{name} contains JSON lines; reading it as such")
        return Records((f"{name}, line {number}", record) for number, record in read_json_lines(path, name))
    value = json_value(path, name, RULE)
    if isinstance(value, list):
        return Records(records_of_array(value, name, RULE))
    if not isinstance(value, dict):
        raise InputError(f"{name} holds neither an array nor an object; {RULE}")
    return Records(iter([(name, value)])) if names_judgements([*value]) else value


def _is_json_lines(begins: bytes) -> bool:
    """Whether the first line is an object of its own, and others follow."""
    first, *rest = begins.splitlines()
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return any(line.strip() for line in rest)


def _of_text(path: Path, name: str, form: str | None, line: str) -> Records:
    """A table with names of columns in its first line, or else judgements as BEIR and TREC write them."""
    if is_qrels(line):
        return read_qrels(path, name)
    usual = DELIMITED.get(form or "")
    tables = {one: _fields(line, one) for one in dict.fromkeys([usual or ",", *DELIMITERS])}
    delimiter = next((one for one, names in tables.items() if names_judgements(names)), None)
    if delimiter is None:
        names = max(tables.values(), key=len)
        if usual is None and len(names) == 1:
            return read_qrels(path, name)  # names the line
        raise InputError(
            f"the first row of {name} does not name columns of queries and documents, but reads "
            f"{in_words(names)}; name the columns there, for example: {EXAMPLE}"
        )
    if delimiter != usual and usual is not None:
        note(f"{name} uses {DELIMITERS[delimiter]} as its delimiter")
    return read_delimited(path, name, "csv", delimiter)


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
