"""How much is in view: results beside the words that change them, on small screens and large ones, and on paper."""

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.looking import QUERY, search, weight, word
from tests.browser.test_looks import check_width
from tests.browser.test_told import changed

SMALL: dict[str, Any] = {"viewport": {"width": 1280, "height": 720}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LARGE: dict[str, Any] = {"viewport": {"width": 2560, "height": 1440}}

FIFTEEN = "what helps against osteoporosis of the hip when old bones are brittle and falls frequent"
TWENTY = f"{FIFTEEN} in winter after a menopause"
NOTE = "no document has the field 'colour', so that this filter leaves nothing out"


def in_view(page: Page, column: str, height: int) -> int:
    """The results of a column that are whole on the screen."""
    bottoms = page.locator(f"#{column} .card:visible").evaluate_all(
        "cards => cards.map(card => card.getBoundingClientRect().bottom)"
    )
    return sum(bottom <= height for bottom in bottoms)


@pytest.mark.parametrize("page", [SMALL], indirect=True)
@pytest.mark.parametrize("told", [False, True], ids=["no note", "a note"])
@pytest.mark.parametrize("chosen", [False, True], ids=["no word", "a word"])
@pytest.mark.parametrize("query", [QUERY, FIFTEEN, TWENTY], ids=["short", "fifteen", "twenty"])
def test_three_results_of_each_column_are_in_view_while_a_weight_moves(
    page: Page, query: str, chosen: bool, told: bool
) -> None:
    if told:
        page.route("**/explain", changed(notes=[NOTE], probably_nothing=None))
    else:
        page.route("**/explain", changed(probably_nothing=None))
    search(page, query)
    if chosen:
        word(page, "osteoporosis").click()
    else:
        word(page, "osteoporosis").focus()
        page.keyboard.press("PageUp")
    assert page.locator("#told p").count() == told
    for column in ("uniform", "weighted"):
        assert in_view(page, column, 720) >= 3


@pytest.mark.parametrize("page", [PHONE], indirect=True)
@pytest.mark.parametrize("query", [QUERY, FIFTEEN], ids=["short", "fifteen"])
def test_a_phone_shows_the_first_result_beside_the_controls_of_a_word(page: Page, query: str) -> None:
    page.route("**/explain", changed(probably_nothing=None))
    search(page, query)
    assert in_view(page, "weighted", 844) >= 1
    for name in ("osteoporosis", "hip"):
        word(page, name).tap()
        expect(page.get_by_role("slider", name=f"weight of {name}, as a slider")).to_be_visible()
        assert in_view(page, "weighted", 844) >= 1
        slider = page.locator("#weight").bounding_box()
        number = page.locator("#weight-number").bounding_box()
        assert slider is not None
        assert number is not None
        assert abs(slider["y"] + slider["height"] / 2 - number["y"] - number["height"] / 2) < 2, "in one row"
        page.get_by_role("button", name=f"twice the weight of {name}").tap()
        assert in_view(page, "weighted", 844) >= 1
    check_width(page)


@pytest.mark.parametrize("page", [SMALL, PHONE], ids=["small", "phone"], indirect=True)
def test_words_that_fill_rows_are_smaller_and_all_can_be_reached(page: Page) -> None:
    search(page, "hip bone")
    large = word(page, "hip").locator(".pieces").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
    search(page, " ".join([TWENTY, *TWENTY.split()[::-1]]))
    small = word(page, "hip").first.locator(".pieces").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
    assert small < large
    word(page, "what").first.focus()
    page.keyboard.press("End")
    expect(word(page, "special tokens")).to_be_focused()
    expect(word(page, "special tokens")).to_be_in_viewport()


@pytest.mark.parametrize("page", [LARGE], indirect=True)
def test_a_very_wide_screen_is_used_without_lines_that_nobody_can_read(page: Page) -> None:
    search(page)
    check_width(page)
    boxes = [page.locator(f"#{column}").bounding_box() for column in ("uniform", "weighted")]
    left, right = [box for box in boxes if box is not None]
    assert left["width"] == pytest.approx(right["width"], abs=1)
    assert 500 <= left["width"] <= 900, "about 60 to 110 characters"
    assert left["x"] == pytest.approx(2560 - right["x"] - right["width"], abs=20), "in the middle"
    assert in_view(page, "weighted", 1440) >= 8
    weight(page, "hip").fill("3")
    page.keyboard.press("Enter")
    check_width(page)


@pytest.mark.parametrize("page", [SMALL, PHONE, LARGE], ids=["small", "phone", "large"], indirect=True)
def test_nothing_sticks_out_of_its_column(page: Page) -> None:
    page.route("**/explain", changed(probably_nothing=None))
    search(page, f"{QUERY} {'x' * 60}")
    page.locator("#weighted .ask:visible").first.click()
    expect(page.locator("#weighted .reasons .number").first).to_be_visible()
    clipped = page.locator(".reasons .number").evaluate_all(
        "numbers => numbers.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    )
    assert clipped == []
    assert page.locator(".reasons .number").first.evaluate("one => getComputedStyle(one).textAlign") == "right"
    out = page.locator(".column mark").evaluate_all(
        """marks => marks.filter(mark => {
          const column = mark.closest(".column").getBoundingClientRect();
          const boxes = [...mark.getClientRects()].filter(box => box.width);
          return boxes.some(box => box.right > column.right + 0.5 || box.left < column.left - 10);
        }).map(mark => mark.textContent)"""
    )
    assert out == []


@pytest.mark.parametrize("page", [{"color_scheme": "dark"}], indirect=True)
@pytest.mark.parametrize("chosen", [False, True], ids=["by the system", "by the reader"])
def test_a_dark_page_is_printed_on_white_with_every_result(page: Page, chosen: bool) -> None:
    search(page)
    if chosen:
        page.get_by_role("button", name="Light").click()
        page.get_by_role("button", name="Dark").click()
    page.emulate_media(media="print", color_scheme="dark")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/oklch\\(([\\d.]+)/)?.[1]")
    assert float(light) > 0.9, "ink on paper"
    expect(page.locator("#lines")).to_be_hidden()
    kinds = page.locator("#weighted .card:visible").evaluate_all(
        "cards => [...new Set(cards.map(card => getComputedStyle(card).contentVisibility))]"
    )
    assert kinds == ["visible"]


def test_boxes_of_filters_are_as_large_as_a_finger_of_text(page: Page) -> None:
    search(page)
    page.get_by_role("button", name="Filter", exact=True).click()
    box = page.locator(".facet-value input").first
    expect(box).to_be_visible()
    sizes = box.evaluate("one => [one.offsetWidth, one.offsetHeight]")
    assert min(sizes) >= 13
