"""The metadata of weights: how they were made, as JSON that every file and every answer can hold."""

import json
from collections.abc import Mapping
from typing import Any

from chamfer.errors import InputError
from chamfer.support.plain_json import parse_json

MOST_BYTES = 64 << 10
"""Largest metadata, as JSON."""

NAMES = ("recipe", "form", "model")
"""Fields that are shown or compared, so they are short strings."""

LONGEST_NAME = 200


def metadata_json(metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON; raises an error if it is too large or cannot be JSON.

    >>> metadata_json({"recipe": "idf", "documents": 3})
    '{"recipe": "idf", "documents": 3}'
    """
    try:
        text = json.dumps(dict(metadata), allow_nan=False)
        parse_json(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the metadata of weights must be JSON ({error}); remove what is not") from error
    if len(text) > MOST_BYTES:
        raise InputError(
            f"the metadata of weights may have at most {MOST_BYTES:,} bytes, not {len(text):,}; shorten it"
        )
    for name in NAMES:
        value = metadata.get(name)
        if value is not None and not (isinstance(value, str) and len(value) <= LONGEST_NAME):
            raise InputError(
                f"{name!r} in the metadata of weights must be a string of at most {LONGEST_NAME} characters"
            )
    return text
