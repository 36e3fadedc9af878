"""CSV and TSV, row by row."""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from chamfer.data.jsonlines import lines_of
from chamfer.data.readers.text import decoded
from chamfer.data.reading import DELIMITED, note
from chamfer.data.records import Records, check_names
from chamfer.errors import InputError

# What separates fields, and what people call it.
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# Rows and bytes from which the delimiter is recognised.
SAMPLE_ROWS, SAMPLE_BYTES = 100, 1 << 20
# Characters of the longest field. The csv module holds it with 4 bytes each.
LONGEST_FIELD = 1 << 24

ERRORS = (
    ("unexpected end of data", "a quote is opened and never closed"),
    (
        "field larger than",
        f"a field has more than {LONGEST_FIELD:,} characters; perhaps a quote is not closed",
    ),
    ("new-line character", "its lines end with a carriage return alone; convert them, for example with mac2unix"),
    ("expected after", "text follows a closing quote; inside a quoted field, write each quote twice"),
)
"""What the csv module says, and what we say."""


def read_delimited(path: Path, name: str, form: str, delimiter: str | None = None) -> Records:
    """Read a table; its first row names the columns.

    Args:
        path: the file.
        name: its name, for messages.
        form: ``csv`` or ``tsv``.
        delimiter: what separates fields; recognised by default.
    """
    delimiter = delimiter or _recognised(path, name, form)
    rows = _rows(path, name, delimiter)
    _, header = next(rows, (1, []))
    padded = any(text != text.strip() for text in header)
    if padded:  # a quote may come after a space
        rows = _rows(path, name, delimiter, padded=True)
        _, header = next(rows, (1, []))
    names = [text.strip() or f"column {place}" for place, text in enumerate(header, 1)]
    check_names(names, name)
    return Records(_records(rows, name, names, delimiter), names, typed=False, grouped=delimiter == ";")


def _records(
    rows: Iterator[tuple[int, list[str]]], name: str, names: list[str], delimiter: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    for line, row in rows:
        if len(row) != len(names):
            raise InputError(
                f"{name}, line {line}: the row has {len(row)} field{'s' * (len(row) != 1)}, but the header has "
                f"{len(names)}; put fields that contain {_called(delimiter)} in quotes"
            )
        yield f"{name}, line {line}", {column: cell for column, cell in zip(names, row, strict=True) if cell}


def _rows(path: Path, name: str, delimiter: str, *, padded: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the number of its first line; cells are stripped if they are padded."""
    csv.field_size_limit(max(LONGEST_FIELD, csv.field_size_limit()))
    with path.open("rb") as file:
        lines = (
            decoded(line, f"{name}, line {number}", name) for number, line in enumerate(lines_of(file, name), start=1)
        )
        reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=padded)
        start = 1
        try:
            for row in reader:
                if row:
                    yield start, [cell.strip() for cell in row] if padded else row
                start = reader.line_num + 1
        except csv.Error as error:
            said = next((ours for theirs, ours in ERRORS if theirs in str(error)), str(error))
            raise InputError(f"{name}, line {start}: {said}") from error


def _recognised(path: Path, name: str, form: str) -> str:
    """The delimiter of a file: the one of its format, or another if there is no doubt.

    A delimiter fits if it gives every row of the beginning the same number of fields, and more than one.
    """
    usual = DELIMITED[form]
    with path.open("rb") as file:
        sample = list(_until(SAMPLE_BYTES, lines_of(file, name)))
        complete = not file.read(1)
    lines = [line.decode("utf-8-sig", "replace") for line in sample]
    tables = {delimiter: _parsed(lines, delimiter, complete=complete) for delimiter in (usual, *DELIMITERS)}
    fitting = [delimiter for delimiter, rows in tables.items() if len({*map(len, rows)}) == 1 and len(rows[0]) > 1]
    header = tables[usual][0] if tables[usual] else []
    if fitting == [usual] or (not fitting and len(header) > 1):  # rows that do not fit are named when they are read
        return usual
    if len(fitting) == 1 and len(header) <= 1:
        note(f"{name} uses {_called(fitting[0])} as its delimiter")
        return fitting[0]
    if not fitting:
        possible = [one for one in DELIMITERS if header and one in header[0]]
        if not possible:
            return usual  # a single column
        fitting = possible
    elif usual not in fitting and len(header) > 1:
        fitting = [usual, *fitting]
    names = " or ".join(DELIMITERS[one] for one in fitting)
    raise InputError(
        f"{name} could be separated by {names}; choose with --delimiter (delimiter in Python), for example "
        f"--delimiter {_typed(next((one for one in fitting if one != usual), usual))}"
    )


def _parsed(lines: list[str], delimiter: str, *, complete: bool) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        padded = f"{delimiter} " in next(iter(lines), "")
        for row in csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=padded):
            if row:
                rows.append(row)
            if len(rows) == SAMPLE_ROWS:
                return rows
    except csv.Error as error:
        if complete or "unexpected end" not in str(error):
            rows.append([])  # it does not fit
    return rows


def _until(most: int, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, until there are enough bytes."""
    total = 0
    for line in lines:
        yield line
        total += len(line)
        if total >= most:
            return


def _called(delimiter: str) -> str:
    return DELIMITERS.get(delimiter, repr(delimiter))


def _typed(delimiter: str) -> str:
    """A delimiter as it is typed in a terminal."""
    return "tab" if delimiter == "\t" else delimiter if re.fullmatch(r"[\w,.:]", delimiter) else f"'{delimiter}'"
