"""Checks on strings."""

import reprlib
from collections.abc import Iterable

from chamfer.errors import InputError


def list_of_strings(values: Iterable[str], what: str) -> list[str]:
    """Strings as a list; a single string is an error, because each of its characters would become an element.

    Args:
        values: the strings.
        what: what the strings are, for the error message.

    >>> list_of_strings("doc1", "ids")
    Traceback (most recent call last):
    chamfer.errors.InputError: ids must be a list of strings, not one string; write ['doc1']
    """
    if isinstance(values, str):
        raise InputError(f"{what} must be a list of strings, not one string; write [{reprlib.repr(values)}]")
    return list(values)


def encodable(text: str) -> str:
    """A text in which lone surrogates, as in file names that are not UTF-8, are replaced.

    >>> encodable("caf" + chr(0xDCE9))
    'caf?'
    """
    return text.encode(errors="replace").decode()
