"""How documents are read from what a user has: the format, and the columns that a user names."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from chamfer.errors import InputError, InputWarning

FORMATS = {
    "jsonl": "JSON lines",
    "json": "JSON",
    "csv": "CSV",
    "tsv": "TSV",
    "parquet": "Parquet",
    "markdown": "Markdown",
    "html": "HTML",
    "text": "plain text",
    "pdf": "PDF",
}
"""The formats of files, and what people call them."""

DELIMITED = {"csv": ",", "tsv": "\t"}
"""Formats whose fields are separated by a character, and which."""

ROW = "row"
"""The ``id_field`` that numbers rows from 1, unless a column has that name."""


@dataclass(frozen=True)
class Reading:
    """How to read a source; what is None is recognised.

    Args:
        id_field: column of ids; ``row`` numbers the rows.
        text_field: column of texts, or several, which are joined by blank lines.
        title_field: column of titles.
        format: one of :data:`FORMATS`.
        delimiter: character between the fields of CSV or TSV.
    """

    id_field: str | None = None
    text_field: str | Sequence[str] | None = None
    title_field: str | None = None
    format: str | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise InputError(f"the formats are {', '.join(FORMATS)}, not {self.format!r}")
        if self.delimiter is not None:
            spelt = {"tab": "\t", "\\t": "\t"}.get(self.delimiter, self.delimiter)
            if len(spelt) != 1 or spelt in '"\r\n\0':
                raise InputError(f"a delimiter is one character, or tab, not {self.delimiter!r}")
            object.__setattr__(self, "delimiter", spelt)
        if self.delimiter is not None and self.format not in (None, *DELIMITED):
            raise InputError(f"{FORMATS[self.format or '']} has no delimiter; leave it out, or read the file as csv")

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of texts that were named."""
        if self.text_field is None:
            return ()
        return tuple(dict.fromkeys([self.text_field] if isinstance(self.text_field, str) else self.text_field))

    @property
    def fields(self) -> tuple[str, ...]:
        """All columns that were named."""
        return tuple(name for name in (self.id_field, *self.texts, self.title_field) if name is not None)


USUAL = Reading()


_collected: ContextVar[list[str] | None] = ContextVar("collected_notes", default=None)


def note(text: str) -> None:
    """Say what was assumed of the input; the command line prints it as a note."""
    collected = _collected.get()
    if collected is None:
        warnings.warn(text, InputWarning, stacklevel=3)
    elif text not in collected:
        collected.append(text)


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect notes inside this context instead of warning; unlike filters of warnings, of this thread alone."""
    notes: list[str] = []
    token = _collected.set(notes)
    try:
        yield notes
    finally:
        _collected.reset(token)


def in_words(names: Sequence[str], most: int = 20) -> str:
    """Names in a sentence, each in quotes.

    >>> in_words(["question", "answer", "topic"])
    "'question', 'answer' and 'topic'"
    """
    shown = [repr(name if len(name) <= 40 else name[:40] + "…") for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
