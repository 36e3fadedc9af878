from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="the page's tests need: pip install axe-playwright-python"
)

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.looking import card, lit, mark_relevant, search, shown, token

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
def test_axe_finds_nothing_in_any_state(page: Page) -> None:
    page.goto("/")
    check_accessible(page)
    search(page)
    check_accessible(page)
    token(page, "hip").click()
    if not page.locator("#sliders").evaluate("details => details.open"):
        page.locator("#sliders summary").click()
    page.locator("#weighted .why summary").first.click()
    mark_relevant(page, "weighted", "bone-density")
    page.get_by_role("spinbutton", name="weight of hip, as a number").fill("2")
    page.keyboard.press("Tab")
    check_accessible(page)
    page.get_by_role("button", name="Save weights").click()
    check_accessible(page)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Weights", exact=True).click()
    expect(page.locator("#table tr")).to_have_count(50)
    check_accessible(page)
    search(page, "rice")
    mark_relevant(page, "weighted", "rice")
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("button", name="Learn weights").click()
    expect(page.get_by_role("button", name="Discard")).to_be_visible(timeout=60_000)
    check_accessible(page)


@pytest.mark.parametrize("page", [NARROW], indirect=True)
def test_a_narrow_screen_never_scrolls_sideways(page: Page) -> None:
    page.goto("/")
    check_width(page)
    search(page, "x" * 400 + " osteoporosis " + "uninterruptedly" * 8)
    check_width(page)
    page.locator("#sliders summary").click()
    page.locator("#weighted .why summary").first.click()
    check_width(page)
    for view in ("Weights", "Learn"):
        page.get_by_role("link", name=view).click()
        check_width(page)


@pytest.mark.parametrize("page", [NARROW], indirect=True)
def test_a_narrow_screen_shows_one_column_and_switches(page: Page) -> None:
    search(page)
    assert shown(page, "weighted")
    assert shown(page, "uniform") == []
    page.get_by_role("button", name="Uniform").tap()
    assert shown(page, "uniform")
    assert shown(page, "weighted") == []
    token(page, "hip").tap()
    assert lit(page, "uniform", "hip-fracture") == "hip"


@pytest.mark.parametrize("page", [NARROW], indirect=True)
def test_what_is_touched_is_large_enough(page: Page) -> None:
    search(page)
    page.locator("#sliders summary").click()
    assert page.get_by_role("slider", name="weight of hip").evaluate("slider => slider.offsetHeight") >= 44
    assert card(page, "weighted", "bone-density").get_by_role("button").first.evaluate("one => one.offsetHeight") >= 40


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
