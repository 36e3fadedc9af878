"""The two sliders for evidence beside the tokens."""

import re
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="the page's tests need: pip install axe-playwright-python"
)

from playwright.sync_api import Locator, Page, Response, expect

from tests.browser.conftest import Server, Watch
from tests.browser.looking import QUERY, card, notice, number, scores, search, shown
from tests.browser.test_looks import check_accessible, check_width
from tests.browser.test_weighing import weight


def slider(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name)


def open_mixed(page: Page) -> None:
    page.goto(f"/?q={QUERY.replace(' ', '+')}&weights=mix")
    expect(page.locator("#weighted .card").first).to_be_visible()


def sent(answer: Response) -> dict[str, Any]:
    """The body of the request that was answered."""
    return answer.request.post_data_json or {}


def ranked(server: Server, mix: dict[str, float] | None) -> list[str]:
    """What a search with this mix finds."""
    asked: dict[str, Any] = {"query": QUERY, "k": 10, "weights": "mix", "mix": mix}
    return [hit["id"] for hit in server.ask("POST", "/search", asked)["hits"]]


def test_weights_without_a_mix_have_no_sliders_for_it(page: Page) -> None:
    page.goto(f"/?q={QUERY.replace(' ', '+')}&weights=idf")
    expect(page.locator("#weighted .card").first).to_be_visible()
    expect(page.get_by_role("group", name="Beside the tokens")).to_be_hidden()


def test_the_ranking_follows_the_mix_and_so_do_the_documents(page: Page, server: Server, watch: Watch) -> None:
    open_mixed(page)
    expect(page.get_by_role("group", name="Beside the tokens")).to_be_visible()
    assert shown(page, "weighted") == ranked(server, None)
    uniform, asked = shown(page, "uniform"), len(watch.requests)
    with page.expect_response("**/explain") as answer:
        slider(page, "overall meaning").fill("0")
    assert sent(answer.value)["mix"] == {"lexical": 0.012, "pooled": 0}
    with page.expect_response("**/explain"):
        slider(page, "keywords").fill("0.05")
    expect(page.locator("#changed-count")).to_have_text("mix changed")
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == ranked(server, {"lexical": 0.05, "pooled": 0.0})
    assert shown(page, "uniform") == uniform
    assert len(watch.requests) == asked + 2, "one for each slider that came to rest"
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("#changed-count")).to_have_text("")
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == ranked(server, None)


def test_a_changed_weight_survives_a_change_of_the_mix(page: Page) -> None:
    open_mixed(page)
    weight(page, "hip").fill("3")
    page.keyboard.press("Tab")
    with page.expect_response("**/explain"):
        slider(page, "keywords").press("ArrowRight")
    expect(page.locator("#changed-count")).to_have_text("1 token changed, mix changed")
    expect(weight(page, "hip")).to_have_value("3.00")


def test_reasons_name_what_the_evidence_brought(page: Page) -> None:
    open_mixed(page)
    first, second = shown(page, "weighted")[:2]
    why = card(page, "weighted", first).get_by_role("group").last
    page.get_by_text(f"Why ranked above {second}?").click()
    expect(why.get_by_role("listitem").filter(has_text="keywords")).to_be_visible()
    expect(why.get_by_role("listitem").filter(has_text="overall meaning")).to_be_visible()
    differences = [number(text.split("\n")[1]) for text in why.get_by_role("listitem").all_inner_texts()]
    first_score, second_score = scores(page, "weighted")[:2]
    assert sum(differences) == pytest.approx(first_score - second_score, abs=2e-3)
    with page.expect_response("**/explain"):
        slider(page, "overall meaning").press("ArrowRight")
    expect(card(page, "weighted", first).locator("details.why")).to_have_attribute("open", "")


def test_a_mix_can_be_saved(page: Page, server: Server) -> None:
    open_mixed(page)
    with page.expect_response("**/explain"):
        slider(page, "overall meaning").fill("0.8")
    page.get_by_role("button", name="Save weights").click()
    question = page.get_by_role("dialog", name="Save these weights?")
    expect(question.get_by_role("listitem")).to_have_text("overall meaning0.400 → 0.800")
    question.get_by_role("button", name="Save").click()
    expect(notice(page)).to_have_text(re.compile(r"Version \d+ of the weights is now in use\."))
    expect(page.get_by_role("button", name="Reset")).to_be_disabled()
    assert server.ask("GET", "/weights")["versions"][0]["mix"] == {"lexical": 0.012, "pooled": 0.8}


@pytest.mark.parametrize(
    "page",
    [{"reduced_motion": "reduce"}, {"viewport": {"width": 320, "height": 640}, "reduced_motion": "reduce"}],
    indirect=True,
)
def test_axe_finds_nothing_in_the_sliders(page: Page) -> None:
    open_mixed(page)
    if not page.locator("#sliders").evaluate("details => details.open"):
        page.locator("#sliders summary").click()
    with page.expect_response("**/explain"):
        slider(page, "keywords").press("ArrowRight")
    page.locator("#weighted .why summary").first.click()
    check_accessible(page)
    check_width(page)


def test_a_new_search_begins_with_the_mix_of_the_weights(page: Page, server: Server) -> None:
    open_mixed(page)
    with page.expect_response("**/explain"):
        slider(page, "keywords").fill("0.05")
    with page.expect_response("**/explain") as answer:
        page.get_by_role("searchbox", name="Query").fill("moon tides")
        page.keyboard.press("Enter")
    assert "mix" not in sent(answer.value)
    expect(slider(page, "keywords")).to_have_value("0.012")
    server.ask("PUT", "/weights", {"weights": "idf-soft"})
    search(page)
    expect(page.get_by_role("group", name="Beside the tokens")).to_be_hidden()
