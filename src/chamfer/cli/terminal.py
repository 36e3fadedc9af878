"""What the terminal shows: results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from chamfer.errors import InputError
from chamfer.support.progress import Advance, shown

# In a pipe rich would assume 80 columns and cut tables to fit.
results = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 120)
messages = Console(stderr=True, highlight=False, emoji=False)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Advance]:
    """Show a bar while a person is watching; stay quiet in a pipe."""
    try:
        with shown(None, messages)(what, total) as advance:
            yield advance
    except KeyboardInterrupt:
        say(f"interrupted while {what}; what was finished is kept; run it again to go on")
        raise


def say(text: str) -> None:
    """Tell the person something that is not the result."""
    messages.print(text, markup=False, soft_wrap=True)


def say_truncated(what: str, truncated: int, total: int, length: int) -> None:
    """Tell how many texts the encoder does not see all of, if there are any."""
    if truncated:
        say(f"note: {truncated} of {total} {what} were cut to {length} tokens")


def check_output(path: Path) -> None:
    """Refuse a file that could not be written, before an hour of work is done for it."""
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if path.is_dir() or not above.is_dir():
        raise InputError(f"{path} cannot be written: {path if path.is_dir() else above} is no place for a file")


def print_json(value: Any) -> None:  # noqa: ANN401 -- JSON
    """Print a result for a program to read."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
