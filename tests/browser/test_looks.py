from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="the page's tests need: pip install axe-playwright-python"
)

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.looking import card, lit, mark_relevant, search, shown, weight, word
from tests.browser.test_learning import answer_with, keep, outcome

NARROW: dict[str, Any] = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
# What fades in has too little contrast for a moment, so nothing moves while axe looks.
STILL = {"reduced_motion": "reduce"}
SCREENS: dict[str, dict[str, Any]] = {
    "light": STILL,
    "dark": {"color_scheme": "dark", **STILL},
    "narrow": {**NARROW, **STILL},
}


def check_accessible(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def check_width(page: Page) -> None:
    wide, screen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= screen


@pytest.mark.parametrize("page", SCREENS.values(), ids=SCREENS, indirect=True)
def test_axe_finds_nothing_in_any_state(page: Page, server: Server) -> None:
    server.ask("PUT", "/weights", {"weights": "uniform"})
    server.ask("POST", "/weights/use", {"version": 1})
    page.goto("/")
    check_accessible(page)
    search(page)
    check_accessible(page)
    page.locator("#weighted .ask").first.click()
    mark_relevant(page, "weighted", "bone-density")
    weight(page, "hip").fill("2")
    page.keyboard.press("Tab")
    check_accessible(page)
    page.get_by_role("button", name="Filter", exact=True).click()
    check_accessible(page)
    page.get_by_role("button", name="Save weights").click()
    check_accessible(page)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Weights", exact=True).click()
    expect(page.locator(".token-table")).to_have_count(2)
    check_accessible(page)
    page.locator(".bin").last.click()
    page.locator(".token-table").get_by_role("spinbutton").first.fill("2")
    page.keyboard.press("Tab")
    page.get_by_text("Compare with the one in use").first.click()
    expect(page.locator(".change-list")).to_be_visible()
    check_accessible(page)
    page.get_by_label("Find a word").fill("osteoporosis")
    expect(page.locator(".token-table")).to_have_count(1)
    expect(page.locator(".token-table caption")).to_contain_text("pieces")
    check_accessible(page)
    search(page, "rice")
    mark_relevant(page, "weighted", "rice")
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("button", name="Learn weights").click()
    expect(page.get_by_role("button", name="Discard")).to_be_visible(timeout=60_000)
    check_accessible(page)


@pytest.mark.parametrize("page", SCREENS.values(), ids=SCREENS, indirect=True)
def test_axe_finds_nothing_in_what_was_learnt(page: Page) -> None:
    """Nor does it scroll sideways, whatever queries and documents are called."""
    long = "an/extraordinarily/long/path/" * 5
    keep(
        page,
        {
            "rice": {"rice": True, long: True},
            "moon": {"moon": True},
            "что такое луна": {"moon": True},
            "x" * 300: {"rice": True},
        },
    )
    expect(page.locator(".mark-problem")).to_have_count(2)
    check_accessible(page)
    check_width(page)
    found = outcome()
    found["compared"][0] |= {"query": "x" * 300, "documents": [{"id": long, "before": None, "after": 100}]}
    answer_with(page, found)
    page.get_by_role("button", name="Learn weights").click()
    page.locator("#learnt summary").click()
    expect(page.locator("#learnt .change-list")).to_be_visible()
    check_accessible(page)
    check_width(page)


@pytest.mark.parametrize("page", [NARROW], indirect=True)
def test_a_narrow_screen_never_scrolls_sideways(page: Page) -> None:
    page.goto("/")
    check_width(page)
    search(page, "x" * 400 + " osteoporosis " + "uninterruptedly" * 8)
    check_width(page)
    word(page, "osteoporosis").click()
    page.locator("#weighted .ask").first.click()
    check_width(page)
    page.get_by_role("button", name="Filter", exact=True).click()
    check_width(page)
    page.get_by_role("link", name="Weights").click()
    expect(page.locator(".token-table")).to_have_count(2)
    check_width(page)
    page.get_by_label("Find a word").fill("uninterruptedly" * 6)
    expect(page.locator(".token-table")).to_have_count(1)
    expect(page.locator(".token-table caption")).to_contain_text("pieces")
    check_width(page)
    page.get_by_role("link", name="Learn").click()
    check_width(page)


@pytest.mark.parametrize("page", [NARROW], indirect=True)
def test_a_narrow_screen_shows_one_column_and_switches(page: Page) -> None:
    search(page)
    assert shown(page, "weighted")
    assert shown(page, "uniform") == []
    page.get_by_role("button", name="Uniform").tap()
    assert shown(page, "uniform")
    assert shown(page, "weighted") == []
    word(page, "hip").tap()
    assert lit(page, "uniform", "hip-fracture") == "hip"


@pytest.mark.parametrize("page", [NARROW], indirect=True)
def test_what_is_touched_is_large_enough(page: Page) -> None:
    search(page)
    mix = page.get_by_role("slider", name="words, against overall meaning")
    assert mix.evaluate("one => one.offsetHeight") >= 44
    word(page, "hip").tap()
    expect(mix).to_be_hidden()  # its room goes to the word
    for handle in (
        word(page, "hip"),
        page.get_by_role("slider", name="weight of hip, as a slider"),
        page.get_by_role("button", name="twice the weight of hip"),
    ):
        assert handle.evaluate("one => one.offsetHeight") >= 44
    assert (
        card(page, "weighted", "bone-density").locator(".judge button").first.evaluate("one => one.offsetHeight") >= 40
    )


@pytest.mark.parametrize("page", [{"color_scheme": "dark"}], indirect=True)
def test_the_page_is_dark_where_the_system_is_and_the_reader_may_overrule_it(page: Page) -> None:
    def lightness() -> float:
        return float(page.evaluate("getComputedStyle(document.body).backgroundColor.match(/oklch\\(([\\d.]+)/)?.[1]"))

    page.goto("/")
    assert lightness() < 0.3
    page.get_by_role("button", name="Light").click()
    assert lightness() > 0.9
    page.reload()
    assert lightness() > 0.9
    page.get_by_role("button", name="Dark").click()
    assert lightness() < 0.3
