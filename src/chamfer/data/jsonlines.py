"""JSON lines: one object per line, with errors that name the line."""

import codecs
import json
import reprlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from chamfer.errors import InputError

LONGEST_LINE = 64 << 20
"""Bytes of the longest line that is read: far more than any document has, and far less than memory."""


def open_lines(path: Path) -> IO[bytes]:
    """Open a file of JSON lines."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    return path.open("rb")


def read_json_lines(path: Path, name: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each line, skipping blank lines; ``name`` is for error messages."""
    with open_lines(path) as file:
        yield from parse_json_lines(lines_of(file, name or str(path)), name or str(path))


def lines_of(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The lines of a file; one that is too long to be held in memory is an error."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InputError(
                f"{name}, line {number}: the line is longer than {LONGEST_LINE >> 20} MiB; split it, or check that the "
                "file has line breaks"
            )
        yield line


def parse_json_lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Like :func:`read_json_lines`, for a file that is already open; ``name`` is for error messages."""
    for number, line in enumerate(lines, start=1):
        if not line.removeprefix(codecs.BOM_UTF8).strip():
            continue
        try:
            # Given bytes, it would let encoded surrogates pass.
            record = DECODER.decode(line.decode("utf-8-sig"))
            if b"\\ud" in line.lower():  # a lone surrogate can be neither encoded nor written
                json.dumps(record, ensure_ascii=False).encode()
        except RepeatedError as error:
            raise InputError(f"{name}, line {number}: {error}") from error
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{name}, line {number}: not a JSON object ({reason(error)}); write one object per line"
            ) from error
        if not isinstance(record, dict):
            raise InputError(
                f"{name}, line {number}: not a JSON object but {type(record).__name__}; write one object per line"
            )
        yield number, record


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; a name that it has twice is an error, because one value would hide the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        name = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
        raise RepeatedError(f"an object has {reprlib.repr(name)} twice; remove one of the two")
    return found


DECODER = json.JSONDecoder(object_pairs_hook=unique)
"""As fast as json.loads, which makes a decoder for each call if it is given a hook: 2.4 us more for each line."""


class RepeatedError(ValueError):
    """An object has a name twice."""


def reason(error: Exception) -> str:
    """Why something is not the JSON that is read, in a few words."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeEncodeError):
        return "it holds half a surrogate pair"
    return "it is not UTF-8" if isinstance(error, UnicodeError) else "a number has too many digits"
