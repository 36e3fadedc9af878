"""Pages of HTML: nothing that a browser shows is lost, and no encoding is guessed."""

import time

import pytest

from chamfer import InputError
from chamfer.data.readers.html import html_parts


def parts(page: str) -> tuple[str, str]:
    found = html_parts(page.encode(), "page.html")
    return found.title, found.text


@pytest.mark.parametrize(
    "page",
    [
        "<html><head><title>Cats</title><meta name=a><body><p>sleep</p></body></html>",
        "<title>Cats</title><p>sleep",
        "<head><title>Cats</head><body><p>sleep",
        "<head><title>Cats<body><p>sleep",
        "<title>Cats\n<p>sleep",
        "<title>Cats<p>sleep<svg><title>Logo</title></svg>",
        "<!-- <title> --><title>Cats</title><p>sleep",
        "<svg><title>Logo</title></svg><title>Cats</title><p>sleep",
        "<h1>Cats</h1><p>sleep",
        "<title>Cats</title><h1>Cats</h1><p>sleep",
        "<svg><title>Logo</title></svg><h1>C<b>ats</b></h1>sleep<script>x()</script><!-- hidden -->",
    ],
)
def test_end_tags_may_be_left_out_and_a_title_is_not_repeated(page: str) -> None:
    assert parts(page) == ("Cats", "sleep")


def test_a_heading_further_down_stays_in_the_text() -> None:
    assert parts("<nav>Home</nav><h1>Cats</h1><p>sleep") == ("Cats", "Home\nCats\nsleep")


def test_line_breaks_of_preformatted_text_are_kept() -> None:
    page = "<p>So\nit is:<pre>\n<b>def</b> f():\n    a\n\n    b\n</pre>\n<p>Then\nmore."
    assert parts(page) == ("", "So it is:\ndef f():\n    a\n\n    b\nThen more.")


@pytest.mark.parametrize(
    ("page", "encoding"),
    [
        ("<meta charset=windows-1251><p>Привет, café".replace("é", "e"), "cp1251"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-1"><p>“café” costs 5 €', "cp1252"),
        ('<?xml version="1.0" encoding="Shift_JIS"?><p>猫は眠る', "cp932"),
        ("<!-- <meta charset=latin1> --><meta charset=utf-8><p>Привет", "utf-8"),
        ("<meta charset=latin1><p>Привет", "utf-8-sig"),
        ("<meta charset=unheard-of><p>Привет", "utf-8"),
        ("<meta charset=hex><p>Привет", "utf-8"),
        ("<p>Привет", "utf-8"),
    ],
)
def test_the_declared_charset_is_read(page: str, encoding: str) -> None:
    assert html_parts(page.encode(encoding), "page.html").text == page.rpartition(">")[2]


@pytest.mark.parametrize("page", ["<p>café", "<meta charset=utf-8><p>café", "<meta charset=unheard-of><p>café"])
def test_without_a_declared_charset_other_bytes_are_refused(page: str) -> None:
    with pytest.raises(InputError, match=r"page\.html is not UTF-8 \(byte 0xE9\); convert the file"):
        html_parts(page.encode("cp1252"), "page.html")


@pytest.mark.parametrize("page", ["<p>cats sleep</p>", "<p>cats sleep\n", "<title>cats", "<div>"])
def test_time_grows_with_the_length_of_a_page_only(page: str) -> None:
    started = time.perf_counter()
    html_parts(page.encode() * 20_000, "page.html")
    assert time.perf_counter() - started < 15, "it took 25 s when each block moved all that come after it"


@pytest.mark.parametrize("page", ["https://example.com/cats", "cats.html"])
def test_a_page_may_look_like_an_address(page: str) -> None:
    assert parts(page) == ("", page)
