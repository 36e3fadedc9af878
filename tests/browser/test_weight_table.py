import re

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.looking import notice, search


def test_the_table_shows_the_heaviest_the_lightest_and_filtered_tokens(page: Page) -> None:
    page.goto("/?view=weights")
    rows = page.locator("#table tr")
    expect(rows).to_have_count(50)
    heaviest = float(rows.first.get_by_role("cell").inner_text())
    page.get_by_role("button", name="Lightest").click()
    expect(rows.first).not_to_contain_text(f"{heaviest:.3f}")
    assert float(rows.first.get_by_role("cell").inner_text()) < heaviest
    page.get_by_label("Filter tokens").fill("bones")
    expect(rows).to_have_count(2)
    assert sorted(rows.get_by_role("rowheader").all_text_contents()) == ["bones", "cheekbones"]
    page.get_by_label("Filter tokens").fill("<b>nothing</b>")
    expect(page.locator("#table-note")).to_have_text("No token contains “<b>nothing</b>”.")


def test_an_earlier_version_can_be_used_again(page: Page, server: Server) -> None:
    search(page)
    weighted = page.locator("#weighted .card:visible .score").all_text_contents()
    page.get_by_role("link", name="Weights", exact=True).click()
    page.get_by_role("button", name="Uniform", exact=True).click()
    expect(notice(page)).to_have_text(re.compile(r"Created version \d+ of the weights; it is now in use\."))
    newest = server.ask("GET", "/weights")["version"]
    used = page.locator("#versions [aria-current]")
    expect(used).to_contain_text(str(newest))
    page.get_by_role("link", name="Search").click()
    uniform = page.locator("#uniform .card:visible .score").all_text_contents()
    expect(page.locator("#weighted .card:visible .score")).to_have_text(uniform)
    page.get_by_role("link", name="Weights", exact=True).click()
    page.get_by_role("button", name="Use version 1", exact=True).click()
    expect(notice(page)).to_have_text("Version 1 of the weights is now in use.")
    assert server.ask("GET", "/weights")["version"] == 1
    page.get_by_role("link", name="Search").click()
    expect(page.locator("#weighted .card:visible .score")).to_have_text(weighted)
    expect(page.locator("#health")).to_contain_text("weights version 1")


def test_views_have_addresses(page: Page) -> None:
    search(page, "rice")
    page.get_by_role("link", name="Weights", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?q=rice&view=weights$"))
    expect(page.get_by_role("heading", name="Weights", level=1)).to_be_visible()
    page.go_back()
    expect(page.locator("#weighted .card").first).to_be_visible()
    page.get_by_role("link", name="chamfer").click()
    expect(page).to_have_url(re.compile(r"/$"))
    expect(page.locator("#answer")).to_be_hidden()
