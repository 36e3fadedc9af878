"""Marks made by keyboard while searching."""

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.looking import card, search, shown


def test_results_are_walked_through_by_arrow_keys(page: Page) -> None:
    search(page)
    weighted, uniform = shown(page, "weighted"), shown(page, "uniform")
    page.get_by_role("searchbox", name="Query").press("ArrowDown")
    expect(card(page, "weighted", weighted[0])).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    expect(card(page, "weighted", weighted[2])).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("k")
    expect(card(page, "weighted", weighted[0])).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(card(page, "weighted", weighted[0])).to_be_focused()
    both = next(one for one in weighted if one in uniform)
    card(page, "weighted", both).focus()
    page.keyboard.press("ArrowLeft")
    expect(card(page, "uniform", both)).to_be_focused()


def test_marks_are_made_and_taken_back_by_keys(page: Page) -> None:
    search(page)
    first, second = shown(page, "weighted")[:2]
    page.get_by_role("searchbox", name="Query").press("ArrowDown")
    page.keyboard.press("r")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    marks = {name: card(page, "weighted", name).locator(".judge button[aria-pressed=true]") for name in (first, second)}
    expect(marks[first]).to_have_accessible_name("relevant")
    expect(marks[second]).to_have_accessible_name("not relevant")
    expect(page.locator("#judgement-count")).to_have_text("2")
    page.keyboard.press("n")
    expect(marks[second]).to_have_count(0)
    expect(card(page, "weighted", second)).to_be_focused()


def test_enter_opens_and_closes_the_reason(page: Page) -> None:
    search(page)
    page.get_by_role("searchbox", name="Query").press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#weighted .why:visible .reasons")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#weighted .why:visible")).to_have_count(0)


def test_letters_are_marks_only_on_a_result(page: Page) -> None:
    search(page, "rice")
    page.get_by_role("searchbox", name="Query").press_sequentially(" rn")
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("rice rn")
    card(page, "weighted", "rice").get_by_role("button", name=re.compile("^relevant")).focus()
    page.keyboard.press("n")
    expect(page.locator("#judgement-count")).to_be_hidden()
