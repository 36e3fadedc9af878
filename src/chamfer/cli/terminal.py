"""Output to the terminal: results on stdout, everything else on stderr."""

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console

from chamfer.encode.lengths import truncation_note
from chamfer.errors import InputWarning
from chamfer.support.progress import shown

# In a pipe rich would assume 80 columns and cut tables to fit.
results = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 120)
messages = Console(stderr=True, highlight=False, emoji=False)


@contextmanager
def recorded(width: int) -> Iterator[None]:
    """Print results ``width`` columns wide and record them, for a picture."""
    before = results.record, results.width
    results.record, results.width = True, width
    try:
        yield
    finally:
        results.record, results.width = before


progress_bar = shown(None, messages)
"""A progress bar on a terminal, and a line now and then in a log."""


AGAIN = "run the same command again to continue"


@contextmanager
def resumable(so_far: Callable[[], str] | None = None) -> Iterator[None]:
    """Tell a person who interrupts long work that it can be resumed.

    Args:
        so_far: returns a sentence that says what is committed, and what to do.
    """
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted; run the same command again to resume" if so_far is None else f"interrupted: {so_far()}")
        raise


def say(text: str) -> None:
    """Print a message that is not the result."""
    # A name of a file may hold bytes that are no text, which could not be printed.
    messages.print(text.encode("utf-8", "backslashreplace").decode(), markup=False, soft_wrap=True)


@contextmanager
def loading() -> Iterator[None]:
    """Say on a terminal that a model is being loaded, which takes seconds."""
    logger, handler = logging.getLogger("chamfer.encode.loading"), _Said()
    before = logger.level
    if messages.is_terminal:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class _Said(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say_once(record.getMessage())


_said: set[str] = set()


def say_once(text: str) -> None:
    """Print a message that is not the result, unless it was printed before."""
    if text not in _said:
        _said.add(text)
        say(text)


@contextmanager
def notes() -> Iterator[None]:
    """Print what the library warns of as notes, each once."""
    _said.clear()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, InputWarning):
            others(message, category, filename, lineno, file, line)
        else:
            say_once(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        others, warnings.showwarning = warnings.showwarning, show
        yield


def say_truncated(what: str, truncated: int, total: int, length: int | None) -> None:
    """Report how many texts were longer than the encoder reads, if any."""
    if truncated:
        say(f"note: {truncation_note(what, truncated, total, length)}")


def print_json(value: Any) -> None:  # noqa: ANN401 -- JSON
    """Print a result as JSON."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
