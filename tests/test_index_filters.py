import operator
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.fields import DEEPEST, Value, fields_of
from chamfer.index.filter_errors import FilterSyntaxError
from chamfer.index.filters import LONGEST, MOST_COMPARISONS, SlowFilterError, parse_filter
from chamfer.index.matching import Mask, passing
from chamfer.index.text_writer import TextWriter
from chamfer.index.texts import Texts

Metadata = Mapping[str, Any]


def found(corpus: Sequence[Metadata], text: str) -> list[int]:
    """The places that pass, from a database like that of a segment."""
    database = sqlite3.connect(":memory:")
    database.executescript(
        "CREATE TABLE documents(place INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, metadata TEXT);"
        "CREATE TABLE fields(name TEXT, kind TEXT, value, place INTEGER);"
        "CREATE INDEX by_value ON fields(name, kind, value, place);"
    )
    for place, metadata in enumerate(corpus):
        database.execute("INSERT INTO documents(place, id) VALUES (?, ?)", (place, f"d{place}"))
        rows = [(*field, place) for field in fields_of(metadata)]
        database.executemany("INSERT INTO fields VALUES (?, ?, ?, ?)", rows)

    def holds(condition: str, values: Sequence[Value]) -> Mask:
        mask = np.zeros(len(corpus), np.bool_)
        mask[[place for (place,) in database.execute(f"SELECT place FROM fields WHERE {condition}", values)]] = True
        return mask

    places = np.flatnonzero(passing(parse_filter(text).root, holds))
    assert database.execute("SELECT count(*) FROM documents").fetchone() == (len(corpus),)
    database.close()
    return list(places)


def asked_of(text: str) -> list[tuple[str, list[Value]]]:
    """The conditions that a filter asks a database for, and the values that it binds."""
    asked = []

    def holds(condition: str, values: Sequence[Value]) -> Mask:
        asked.append((condition, list(values)))
        return np.ones(3, np.bool_)

    passing(parse_filter(text).root, holds)
    return asked


# A second opinion: filters as trees of tuples, written as text for the parser and evaluated here in plain Python.

ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def values_of(metadata: Metadata, name: str) -> list[Any]:
    first, _, rest = name.partition(".")
    values: list[Any] = [metadata.get(first)]
    if rest:
        values = [value.get(rest) for value in values if isinstance(value, dict)]
    lists = [value if isinstance(value, list) else [value] for value in values]
    return [value for some in lists for value in some if value is not None and not isinstance(value, dict)]


def kind(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def alike(text: str, pattern: str) -> bool:
    def fold(text: str) -> str:
        return "".join(c.lower() if c.isascii() else c for c in text)

    parts = [{"%": ".*", "_": "."}.get(c, re.escape(c)) for c in fold(pattern)]
    return re.fullmatch("".join(parts), fold(text), re.DOTALL) is not None


def truth(metadata: Metadata, tree: Any) -> bool | None:
    """True, False or, as in SQL, None: a comparison with a field that is not there."""
    match tree:
        case ("not", part):
            inner = truth(metadata, part)
            return None if inner is None else not inner
        case ("and" | "or" as word, parts):
            answers = [truth(metadata, part) for part in parts]
            decides = word == "or"
            return decides if decides in answers else None if None in answers else not decides
        case ("null", name):
            return not values_of(metadata, name)
        case ("not null", name):
            return bool(values_of(metadata, name))
    name, word, value = tree
    values = values_of(metadata, name)
    if not values:
        return None
    if word in ("!=", "<>", "not in", "not like"):
        positive = {"not in": "in", "not like": "like"}.get(word, "=")
        return not truth(metadata, (name, positive, value))
    if word == "in":
        return any(kind(one) == kind(other) and one == other for one in values for other in value)
    same = [one for one in values if kind(one) == kind(value)]
    return any(alike(one, value) if word == "like" else ORDER[word](one, value) for one in same)


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if not isinstance(value, str):
        return repr(value)
    quote = '"' if len(value) % 2 else "'"
    return quote + value.replace(quote, 2 * quote) + quote


def written(tree: Any) -> str:
    match tree:
        case ("not", part):
            return f"NOT ({written(part)})"
        case ("and" | "or" as word, parts):
            return f" {word} ".join(f"({written(part)})" for part in parts)
        case ("null" | "not null" as word, name):
            return f"{quoted(name)} is {word}"
    name, word, value = tree
    if isinstance(value, list):
        opening, closing = "[]" if len(value) % 2 else "()"
        return f"{quoted(name)} {word} {opening}{', '.join(map(literal, value))}{closing}"
    return f"{quoted(name)} {word}{'' if word in ORDER else ' '}{literal(value)}"


def quoted(name: str) -> str:
    return name if re.fullmatch(r"[a-z.]+", name) else '"' + name.replace('"', '""') + '"'


NAMES = ["year", 'it\'s "odd" -- name', "author.name"]
texts = st.sampled_from(["", "en", "EN", "e%", "it's", "é", "É", "2020", "1", "a\nb"]) | st.text(max_size=3)
numbers = st.integers(-2, 2) | st.sampled_from([0.5, 2020, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), 1e300, -1e-7])
values = texts.filter(lambda text: "\0" not in text) | numbers | st.booleans()
field = st.none() | values | st.lists(st.none() | values, max_size=3)
corpora = st.lists(
    st.fixed_dictionaries(
        {}, optional={NAMES[0]: field, NAMES[1]: field, "author": st.fixed_dictionaries({}, optional={"name": field})}
    ),
    max_size=6,
)
names = st.sampled_from(NAMES)
comparisons = st.one_of(
    st.tuples(names, st.sampled_from([*ORDER, "!=", "<>"]), values),
    st.tuples(names, st.sampled_from(["in", "not in"]), st.lists(values, min_size=1, max_size=4)),
    st.tuples(names, st.sampled_from(["like", "not like"]), st.text("eEéÉn%_'\n", max_size=4)),
    st.tuples(st.sampled_from(["null", "not null"]), names),
)
trees: st.SearchStrategy[Any] = st.recursive(
    comparisons,
    lambda tree: (
        st.tuples(st.just("not"), tree)
        | st.tuples(st.sampled_from(["and", "or"]), st.lists(tree, min_size=2, max_size=3))
    ),
    max_leaves=8,
)


@given(corpora, trees)
@example([{"year": 2021}, {"year": "2021"}, {"year": [2019, 2021]}, {}], ("not", ("year", ">", 2020)))
def test_sql_finds_what_plain_python_finds(corpus: list[Metadata], tree: Any) -> None:
    expected = [place for place, metadata in enumerate(corpus) if truth(metadata, tree)]
    assert found(corpus, written(tree)) == expected


@given(st.text("abin='\"()[]<>!&,.%_01e+- \n\0\ud800", max_size=30) | st.text(max_size=30))
def test_any_text_is_understood_or_refused(text: str) -> None:
    with suppress(InputError):  # and nothing else: no RecursionError, nothing from SQLite
        found([{"a": 1}], text)


CORPUS: list[Metadata] = [
    {"year": 2021, "lang": "en", "open": True},
    {"year": 2019, "lang": "de", "tags": ["a", "b"]},
    {"year": [2018, 2022], "lang": "EN", "author": {"name": "Ada"}},
    {"year": "2021", "open": None, "authors": [{"name": "Bo"}, {"name": "Cy"}]},
    {},
]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("year > 2020", [0, 2]),
        ("year > 2000", [0, 1, 2]),  # once each, though 2018 and 2022 both lie above
        ("not year > 2020", [1, 3]),  # a text is no number above 2020; a document without a year is not asked
        ("year != 2021", [1, 2, 3]),
        ("year != 'x'", [0, 1, 2, 3]),
        ("year < 'zzz'", [3]),
        ("year > 2020 AND lang = 'en'", [0]),
        ("lang = 'de' or lang = 'en' and year = 1", [1]),  # and binds tighter than or
        ("(lang = 'de' or lang = 'en') and year = 2021", [0]),
        ("not lang = 'de' and lang is not null", [0, 2]),  # and not tighter than both
        ("not not lang = 'de'", [1]),
        ("lang like 'E%'", [0, 2]),
        ("lang not like '_n'", [1]),
        ("year in (2019, '2021', true)", [1, 3]),
        ("year not in (2019, '2021', true)", [0, 2]),
        ("open is null", [1, 2, 3, 4]),
        ("not open is null", [0]),
        ("not open is not null", [1, 2, 3, 4]),
        ("open = true", [0]),
        ("open >= false", [0]),
        ("open = 1", []),
        ("tags = 'b'", [1]),
        ("tags != 'b'", []),
        ("author.name = 'Ada' or authors.name = 'Cy'", [2, 3]),
        ("\"author.name\" = 'Ada'", [2]),
        ("LANG = 'en'", []),
        ('lang == "en"', [0]),
        ('lang != "en" And Not lang == "de"', [2]),
        ('lang in ["de", "en"]', [0, 1]),
        ("year in [2019, 2021]", [0, 1]),
        ('NOT lang IN ("de", "en") OR year IN [2019]', [1, 2]),
        ('lang like "E%"', [0, 2]),
        ('"lang" = "en"', [0]),
        ("year=+2.021e3", [0]),
    ],
)
def test_filters_mean_what_they_say(text: str, places: list[int]) -> None:
    assert found(CORPUS, text) == places


@pytest.mark.parametrize("attempt", ["x'; DROP TABLE documents; --", "' OR 1=1 --", "?", ":a", '"x"', "a\0b", "\ud800"])
def test_sql_in_a_filter_is_just_a_text_or_a_name(attempt: str) -> None:
    corpus = [{attempt: "v", "text": attempt}, {"text": "v"}]
    as_name = '"' + attempt.replace('"', '""') + '"'
    assert found(corpus, f"{as_name} = 'v'") == [0]
    assert found(corpus, f"text = {literal(attempt)}") == [0]
    [(query, bound)] = asked_of(f"text = {literal(attempt)}")
    assert (query, bound[:2]) == (asked_of("lang = 'en'")[0][0], ["text", "text"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" \n", "a filter needs a comparison, such as year > 2020; leave it out to search all documents"),
        ("year >", "a filter needs a value at position 7, but the filter ends there"),
        ("year = ", "a filter needs a value at position 8, but the filter ends there"),
        (
            "year",
            "needs a comparison (=, !=, <, <=, >, >=, in, like, is) at position 5, but the filter ends there",
        ),
        ("lang = en", "a filter needs a value at position 8, not en; put strings in quotes: 'en'"),
        ("a = 2020-01-01", "needs a value at position 5, not 2020-01-01; put strings in quotes: '2020-01-01'"),
        ("a = null", "a filter needs a value at position 5, not null; write 'is null' or 'is not null'"),
        ("a = 1e999", "a filter needs a number below 1.8e308 at position 5, not 1e999"),
        ("a = 'b", "a filter needs a value at position 5, not 'b; close the quote with another '"),
        ("a = 'b''", "a filter needs a value at position 5, not 'b''; close the quote with another '"),
        ("(a = 1", "a filter needs 'and', 'or' or the ')' for position 1 at position 7, but the filter ends there"),
        ("a = 1)", "a filter needs 'and', 'or' or its end at position 6, not )"),
        ("a = 1 b = 2", "a filter needs 'and', 'or' or its end at position 7, not b"),
        ("a = 1 & b = 2", "a filter needs 'and', 'or' or its end at position 7, not &; write 'and'"),
        ("a = 1;", "'and', 'or' or its end at position 6, not ';'; leave it out"),
        ("a = 1; b = 2", "at position 6, not ';'; write 'and'"),
        ("a = 1, b = 2", "at position 6, not ','; write 'and'"),
        ("year = 2,000", "at position 9, not ','; write numbers without commas: 2000"),
        ("a = -1,234,567 and b = 2", "at position 7, not ','; write numbers without commas: -1234567"),
        ("score > 2,5", "at position 10, not ','; write numbers with a point: 2.5"),
        ("lang = en-US", "a filter needs a value at position 8, not en; put strings in quotes: 'en-US'"),
        ("lang in (en-US, de)", "put strings in quotes: 'en-US'"),
        ("lang in en-US", "write in ('en-US', …)"),
        ("name = O'Brien", "put strings in quotes: 'O''Brien'"),
        ("a = 1 || b = 2", "not ||; write 'or'"),
        ("a = 1 and !(b = 2)", "a filter needs the name of a field at position 11, not !; write 'not'"),
        ("1 < a < 3", "a filter needs the name of a field at position 1, not 1; write the field first, as in year > "),
        ("a > 1 < 3", "not <; write the field again, as in year > 2000 and year < 2010"),
        ("'en' in lang", "not 'en'; write the field first"),
        ("a => 1", "a filter needs a value at position 4, not >; write >="),
        ("a === 1", "a filter needs a value at position 5, not =; write ="),
        ("a: 1", ", is) at position 2, not :; write ="),
        ("a ! = 1", ", is) at position 3, not !; write !="),
        ("a between 1 and 3", "not between; write year >= 2000 and year <= 2010"),
        ("a contains 'b'", "not contains; write like '%…%'"),
        ("first name = 'Ada'", "at position 7, not name; put unusual names in double quotes"),
        ("a[0] = 1", "at position 2, not [; put unusual names in double quotes"),
        ("a = None", "not None; write 'is null' or 'is not null'"),
        ("a is None", "not None; write 'null'"),
        (r"a = 'it\'s'", "not s; write '' for a quote inside a string"),
        ("a = \u2018en\u2019", "put strings in quotes: 'en'"),
        ("a = 1 and", "a filter needs the name of a field at position 10, but the filter ends there"),
        ("()", "a filter needs the name of a field at position 2, not )"),
        ("5 < a", "a filter needs the name of a field at position 1, not 5"),
        ("in = 1", 'needs the name of a field at position 1, not in; put unusual names in double quotes: "in"'),
        ("a-b = 1", ", is) at position 2, not -b; put unusual names in double quotes"),
        ("a in 1", "a filter needs '(' and a list of values at position 6, not 1; write in (1, …)"),
        ("a in en", "a filter needs '(' and a list of values at position 6, not en; write in ('en', …)"),
        ("a in [1, 2)", "a filter needs ',' or ']' at position 11, not )"),
        ("a in ()", "a filter needs a value at position 7, not )"),
        ("a in (1 2)", "a filter needs ',' or ')' at position 9, not 2"),
        ("a not = 1", "a filter needs 'in' or 'like' at position 7, not =; write !="),
        ("a like 1", "a filter needs a pattern in quotes at position 8, not 1"),
        ("a is 1", "a filter needs 'null' or 'not null' at position 6, not 1; write ="),
        ("a is not 1", "a filter needs 'null' at position 10, not 1; write !="),
        ("a = \x07", "a filter needs a value at position 5, not '\\x07'; put strings"),
        ("a = " + "b" * 99, f"not {'b' * 40}…; put strings"),
    ],
)
def test_an_error_says_where_and_what_was_expected(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_filter(text)
    assert sentence in str(caught.value)


def repeated(times: int, word: str) -> str:
    return f" {word} ".join(["a in (1, 'b', true)"] * times)


@pytest.mark.parametrize(
    ("text", "position", "shown"),
    [
        ("lang =", 7, "  lang =\n        ^"),
        ("\u732b = 'x'\tand", 12, "  \u732b = 'x' and\n              ^"),  # two columns, and no tab
        ("a = 'e\u0301' or", 12, "  a = 'e\u0301' or\n            ^"),  # an accent of its own takes none
        ("(" * 200, DEEPEST + 1, f"  {'(' * 100}…\n  {' ' * 50}^"),
        (f"{'a = 1 or ' * 90}b c", 813, f"  …{('a = 1 or ' * 90)[-48:]}b c\n  {' ' * 51}^"),
        (repeated(MOST_COMPARISONS + 1, "or"), 23 * MOST_COMPARISONS + 1, None),
    ],
)
def test_the_place_of_an_error_is_shown(text: str, position: int, shown: str | None) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(text)
    assert caught.value.position == position
    assert shown in (None, *caught.value.__notes__)


def alternating(depth: int) -> str:
    text = "a = 1"
    for level in range(depth):
        text = f"not (a != {level} {('and', 'or')[level % 2]} {text})"
    return text


def alternated(a: int, depth: int) -> bool:
    answer = a == 1
    for level in range(depth):
        answer = not ((a != level or answer) if level % 2 else (a != level and answer))
    return answer


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("(" * DEEPEST + "a = 1" + ")" * DEEPEST, [0]),
        (" and ".join(["(a = 1)"] * MOST_COMPARISONS), [0]),  # side by side is not deep
        (alternating(DEEPEST), [place for place in (0, 1) if alternated(place + 1, DEEPEST)]),
        (repeated(MOST_COMPARISONS, "and"), [0]),
        (repeated(MOST_COMPARISONS, "or"), [0]),
        (f"not ({repeated(MOST_COMPARISONS, 'and')})", [1]),
        (f"a in ({', '.join(['1'] * 3000)})", [0]),
        ("not " * 2401 + "a = 1", [1]),
        (f"a = {'0' * 9000}1", [0]),
        (f"text not like '{'%' * 9000}x'", [1]),
    ],
)
def test_the_largest_filters_still_run(text: str, places: list[int]) -> None:
    assert len(text) <= LONGEST
    assert found([{"a": 1, "text": "x"}, {"a": 2, "text": "y"}], text) == places


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = 1" + " " * LONGEST, f"may have at most {LONGEST} characters, not {LONGEST + 5}; add a field for it"),
        (
            "(" * 9000,
            f"may nest at most {DEEPEST} parentheses, but opens another at position {DEEPEST + 1}; flatten it",
        ),
        (
            repeated(MOST_COMPARISONS + 1, "or"),
            f"may have at most {MOST_COMPARISONS} comparisons, but another begins at position",
        ),
    ],
)
def test_a_larger_filter_is_refused_before_sqlite_sees_it(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        parse_filter(text)


def test_equal_comparisons_are_evaluated_once() -> None:
    assert len(asked_of(" and ".join(["year >= 0"] * MOST_COMPARISONS))) == 1
    assert len(asked_of("(a = 1 or a = 2) and (a = 1.0 or not a = 2)")) == 3, "both comparisons, and who has the field"
    assert len(asked_of("a = 1 and a = true and a = '1'")) == 3


def test_a_filter_stops_when_its_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = TextWriter(tmp_path / "documents.sqlite")
    writer.append([Document(f"d{place:02}", "", metadata={"year": place}) for place in range(100)])
    writer.finish()
    texts = Texts(tmp_path / "documents.sqlite", 100)
    monkeypatch.setattr("chamfer.index.texts.STEPS", 1)
    slow = parse_filter("year >= 90 and not year = 95")
    with pytest.raises(SlowFilterError, match="the filter timed out; use fewer comparisons"):
        texts.matching(slow, stop=time.monotonic())
    assert len(texts.matching(slow, stop=time.monotonic() + 60)) == 9
    assert len(texts.matching(slow)) == 9


def test_a_pattern_over_long_values_stops_too(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path / "documents.sqlite")
    writer.append([Document(f"d{place:02}", "", metadata={"abstract": "e" * 24_000}) for place in range(60)])
    writer.finish()
    texts = Texts(tmp_path / "documents.sqlite", 60)
    slow = parse_filter(f"abstract like '%e{'_' * 190}x'")  # 10 ms for each value
    started = time.monotonic()
    with pytest.raises(SlowFilterError):
        texts.matching(slow, stop=started + 0.05)


def test_the_length_of_patterns_can_be_limited() -> None:
    assert parse_filter("a like '%it''s'", pattern=5)
    told = "a pattern may have at most 4 characters, but that at position 8 has 5; look for a shorter part of the text"
    with pytest.raises(InputError, match=re.escape(told)):
        parse_filter("a like '%it''s'", pattern=4)
    assert parse_filter("a = '%it''s'", pattern=4), "only patterns cost that much"


def test_a_field_of_no_document_is_damage_and_not_an_index_error(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path / "documents.sqlite")
    writer.append([Document("a", "", metadata={"year": 1}), Document("b", "", metadata={"year": 2})])
    writer.finish()
    with pytest.raises(InputError, match="is damaged: a field belongs to no document"):
        Texts(tmp_path / "documents.sqlite", 1).matching(parse_filter("year > 0"))


def test_a_pattern_sees_past_a_nul() -> None:
    assert found([{"a": "x\0y"}, {"a": "x"}], "a like 'x'") == [1]
    assert found([{"a": "x\0y"}, {"a": "x"}], "a like 'x_y'") == [0]


def rows(metadata: Metadata) -> list[tuple[str, str, Any]]:
    return list(fields_of(metadata))


def test_metadata_is_flattened() -> None:
    nested = {"a": {"b": {"c": 1}, "d": []}, "e": [[1, "x"], {"f": False}, None], "g": {}}
    assert rows(nested) == [("a.b.c", "number", 1), ("e", "number", 1), ("e", "text", "x"), ("e.f", "boolean", 0)]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**300])
def test_whole_numbers_beyond_64_bits_are_rounded_on_both_sides(number: int) -> None:
    assert rows({"n": number}) == [("n", "number", float(number))]
    assert found([{"n": number}, {"n": 1}], f"n = {number}") == [0]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (float("nan"), "a number in metadata must be finite, but n is not; leave it out or write null"),
        (float("-inf"), "a number in metadata must be finite, but n is not"),
        (10**400, "a number in metadata must be finite, but n is not"),
        (b"x", "metadata must be JSON, but n is a bytes; write it as a string"),
        ({1: 2}, "names in metadata must be strings, not 1"),
    ],
)
def test_what_no_filter_could_find_is_refused(value: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        rows({"n": value})


def wrapped(value: Any, wraps: Iterable[Callable[[Any], Any]]) -> Any:
    for wrap in wraps:
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"k": value}])
def test_metadata_may_be_nested_but_not_without_end(wrap: Callable[[Any], Any]) -> None:
    assert len(rows({"n": wrapped(1, [wrap] * (DEEPEST - 1))})) == 1
    with pytest.raises(InputError, match="metadata may be nested 50 levels deep"):
        rows({"n": wrapped(1, [wrap] * 5000)})


def test_a_long_number_that_is_none_takes_no_longer_than_its_length() -> None:
    began = time.process_time()
    for _ in range(5):
        with pytest.raises(InputError, match="needs a value at position 5"):
            parse_filter("a = " + "1" * (LONGEST - 5) + "x")
    assert time.process_time() - began < 0.1
