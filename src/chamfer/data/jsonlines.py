"""JSON lines: one object per line, and errors that name the line."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from chamfer.errors import InputError


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line; blank lines are passed over."""
    if not path.is_file():
        raise InputError(f"there is no file {path}; give a BEIR folder, or a file of JSON lines")
    with path.open("rb") as file:
        yield from parse_json_lines(file, str(path))


def parse_json_lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Like :func:`read_json_lines`, from lines that are already open."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if b"\\ud" in line.lower():  # half a surrogate pair is no text that could be encoded or written
                json.dumps(record, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
            reason = "it is not UTF-8" if isinstance(error, UnicodeError) else reason
            raise InputError(f"{name}, line {number}: not a JSON object ({reason})") from error
        if not isinstance(record, dict):
            raise InputError(f"{name}, line {number}: not a JSON object but {type(record).__name__}")
        yield number, record
