"""pydantic's validation errors in plain words."""

import json
from collections.abc import Mapping
from typing import Any

SHOWN_CHARACTERS = 60
"""Longest value that a sentence repeats."""

# What a value must be, by pydantic's type of error; the names are those of the error's context.
RULES = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "an object",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "greater_than": "above {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller number",
    "int_type": "a whole number",
    "less_than": "below {lt:g}",
    "less_than_equal": "at most {le:g}",
    "list_type": "a list",
    "literal_error": "{expected}",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "string_type": "a string",
}
# Errors of values that are numbers, though they may have been written as strings on a command line or in a URL.
RANGES = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
# For lengths: the limit, and what is counted.
SHORTEST = {"too_short": "entries", "string_too_short": "characters"}
LONGEST = {"too_long": "entries", "string_too_long": "characters"}


def rule_broken(error: Mapping[str, Any]) -> str:
    """What one of ``ValidationError.errors()`` says of a value, to be written after the name of the value.

    >>> rule_broken({"type": "greater_than_equal", "ctx": {"ge": 1}, "input": 0, "msg": "..."})
    'must be at least 1, not 0'
    >>> rule_broken({"type": "missing", "input": {}, "msg": "Field required"})
    'is missing'
    """
    kind, limits = error["type"], error.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind in SHORTEST:
        least = limits["min_length"]
        return "must not be empty" if least == 1 else f"must have at least {least} {SHORTEST[kind]}"
    if kind in LONGEST:
        return f"must have at most {limits['max_length']} {LONGEST[kind]}"
    if kind in RULES:
        return f"must be {RULES[kind].format_map(limits)}{_but_is(error['input'], number=kind in RANGES)}"
    return str(limits["error"] if kind == "value_error" else error["msg"])


def _but_is(value: object, *, number: bool) -> str:
    """``, not 0``; nothing for values that are long, or that JSON does not have."""
    try:
        written = str(value) if number else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return ""
    return f", not {written}" if len(written) <= SHOWN_CHARACTERS else ""
