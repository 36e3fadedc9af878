import re

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.looking import QUERY, card, mark_relevant, notice, search

JUDGED = {QUERY: "hip-fracture", "what helps against the headwind": "e-bike", "how long is rice cooked": "rice"}


def judge(page: Page) -> None:
    for query, relevant in JUDGED.items():
        search(page, query)
        mark_relevant(page, "weighted", relevant)


def test_a_judgement_shows_in_both_columns_and_is_stored(page: Page) -> None:
    search(page)
    mark_relevant(page, "uniform", "hip-fracture")
    for column in ("uniform", "weighted"):
        button = card(page, column, "hip-fracture").get_by_role("button", name="relevant", exact=True)
        expect(button).to_have_attribute("aria-pressed", "true")
    page.reload()
    button = card(page, "weighted", "hip-fracture").get_by_role("button", name="relevant", exact=True)
    expect(button).to_have_attribute("aria-pressed", "true")
    card(page, "weighted", "hip-fracture").get_by_role("button", name="not relevant").click()
    expect(button).to_have_attribute("aria-pressed", "false")
    page.goto("/")
    expect(page.locator("#examples")).to_have_text(f"Previously judged: {QUERY}")
    page.get_by_role("link", name=QUERY).click()
    card(page, "weighted", "hip-fracture").get_by_role("button", name="not relevant").click()
    expect(page.locator("#judgement-count")).to_be_hidden()


def test_too_few_judgements_are_reported_without_a_request(page: Page) -> None:
    search(page)
    mark_relevant(page, "weighted", "hip-fracture")
    page.get_by_role("link", name="Learn").click()
    expect(page.get_by_text("You judged 1 document for 1 query. Learning needs")).to_be_visible()
    expect(page.get_by_role("button", name="Learn weights")).to_be_disabled()


def test_weights_are_learnt_from_judgements_compared_and_used(page: Page, server: Server) -> None:
    judge(page)
    page.get_by_role("link", name="Learn 3").click()
    expect(page.get_by_text("You judged 3 documents for 3 queries.")).to_be_visible()
    page.get_by_role("button", name="Learn weights").click()
    learnt = page.locator("#learnt")
    expect(learnt.get_by_role("heading", level=2)).to_have_text(
        re.compile(r"Version \d+, not in use yet"), timeout=60_000
    )
    expect(learnt).to_be_focused()
    assert server.ask("GET", "/weights")["version"] == 1
    for figure in ("nDCG@10, current", "nDCG@10, learnt", "relevant documents moved"):
        expect(learnt.locator(".figure", has_text=figure).locator("strong")).to_have_text(re.compile(r"\d"))
    expect(learnt.get_by_text("Chosen:")).to_contain_text("based on 3 queries")
    expect(learnt.get_by_role("heading", name="Relevant documents")).to_be_visible()
    expect(learnt.get_by_role("heading", name="Largest weight changes")).to_be_visible()
    newest = server.ask("GET", "/weights")["versions"][0]["version"]
    learnt.get_by_role("button", name="Use these weights").click()
    expect(page.locator("#weighted .card").first).to_be_visible()
    expect(notice(page)).to_have_text(f"Version {newest} of the weights is now in use.")
    expect(page.locator("#health")).to_contain_text(f"weights version {newest}")
    assert server.ask("GET", "/weights")["version"] == newest


def test_learnt_weights_can_be_discarded(page: Page, server: Server) -> None:
    before = server.ask("GET", "/weights")["versions"]
    judge(page)
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("button", name="Learn weights").click()
    page.get_by_role("button", name="Discard").click(timeout=60_000)
    expect(page.locator("#learnt")).to_be_hidden()
    expect(notice(page)).to_contain_text("Discarded version")
    assert server.ask("GET", "/weights") == {"version": 1, "versions": before}


def test_judgements_can_be_cleared(page: Page) -> None:
    judge(page)
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("button", name=f"Clear the judgements for {QUERY}").click()
    expect(page.locator("#judgements > li")).to_have_count(2)
    page.get_by_role("button", name="Clear all judgements").click()
    page.get_by_role("dialog").get_by_role("button", name="Clear all").click()
    expect(page.locator("#judgements > li")).to_have_count(0)
    expect(page.locator("#learn-lead")).to_contain_text("Mark results as relevant")
