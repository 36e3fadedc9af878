"""JSON that others send: what is refused, and that this costs little."""

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer.support.plain_json import DEEPEST, LargeJsonError, parse_json

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.sampled_from('a"\\[]{},:ä\n'))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(st.sampled_from('"\\[{,')), inner)
)


def structure(value: Any) -> int:
    """Commas and opening brackets outside strings."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return max(1, len(value)) + sum(map(structure, inner))


@given(VALUES, st.booleans())
def test_what_is_inside_strings_is_not_counted(value: Any, escaped: bool) -> None:
    content, count = json.dumps(value, ensure_ascii=escaped).encode(), structure(value)
    assert parse_json(content) == parse_json(content, most=count) == value
    if count:
        with pytest.raises(LargeJsonError):
            parse_json(content, most=count - 1)


@pytest.mark.parametrize("part", [b"[],", b"{},", b"1,", b'"",', b'",",', b'{"a":"]"},', b"[" * 50 + b"]" * 50 + b","])
def test_millions_of_values_are_refused_before_they_are_parsed(part: bytes) -> None:
    content = b"[" + part * ((4 << 20) // len(part))
    started = time.thread_time()
    with pytest.raises(LargeJsonError, match="it has more than 250,000 commas and opening brackets outside strings"):
        parse_json(content, most=250_000)
    assert time.thread_time() - started < 0.2, "parsing them takes up to 5 seconds"


@pytest.mark.parametrize("start", [b"", b'{"]}": ', b'["[]]]", "\\\\", '])
def test_the_depth_is_limited_whatever_strings_say(start: bytes) -> None:
    levels = DEEPEST - len(start[:1])
    end = {b"": b"", b"[": b"]", b"{": b"}"}[start[:1]]
    assert parse_json(start + b"[" * levels + b"]" * levels + end)
    for broken in (b"[" * (levels + 1) + b"]" * (levels + 1) + end, b"[" * 100_000):
        with pytest.raises(ValueError, match=f"nested more than {DEEPEST} levels deep"):
            parse_json(start + broken)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400 + ".0"])
def test_a_number_that_is_no_float_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match=re.escape("it contains a number beyond 1.8e308, ")):
        parse_json(f'{{"a": {number}}}'.encode())
    assert parse_json(b"[1e308, 1e-999]") == [1e308, 0.0]
