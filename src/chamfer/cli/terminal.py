"""Output to the terminal: results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from chamfer.support.progress import shown

# In a pipe rich would assume 80 columns and cut tables to fit.
results = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 120)
messages = Console(stderr=True, highlight=False, emoji=False)


progress_bar = shown(None, messages)
"""A progress bar on a terminal, and nothing in a pipe."""


@contextmanager
def resumable() -> Iterator[None]:
    """Tell a person who interrupts long work that it can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted; finished work is saved, so run the same command again to resume")
        raise


def say(text: str) -> None:
    """Print a message that is not the result."""
    messages.print(text, markup=False, soft_wrap=True)


def say_truncated(what: str, truncated: int, total: int, length: int) -> None:
    """Report how many texts were longer than the encoder reads, if any."""
    if truncated:
        say(f"note: {truncated} of {total} {what} were truncated to {length} tokens")


def print_json(value: Any) -> None:  # noqa: ANN401 -- JSON
    """Print a result as JSON."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
