"""The bar that divides a perfect score between words, overall meaning and exact terms."""

import re
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")
pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="the page's tests need: pip install axe-playwright-python"
)

from playwright.sync_api import Locator, Page, Response, expect

from tests.browser.conftest import Server, Watch
from tests.browser.looking import QUERY, card, drag, notice, number, scores, search, shown, weight, word
from tests.browser.test_looks import check_accessible, check_width

# What the handles stand between.
MEANING, TERMS = "words, against overall meaning", "overall meaning, against exact terms"


def handle(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name)


def open_mixed(page: Page) -> None:
    page.goto(f"/?q={QUERY.replace(' ', '+')}&weights=mix")
    expect(page.locator("#weighted .card").first).to_be_visible()


def shares(page: Page) -> dict[str, float]:
    """The share of each part, as the bar draws it."""
    words, terms = (
        float(page.locator("#mix-bar").evaluate(f"bar => bar.style.getPropertyValue('--{name}')"))
        for name in ("words", "exact")
    )
    return {"words": words, "meaning": 1 - words - terms, "terms": terms}


def sent(answer: Response) -> dict[str, Any]:
    """The body of the request that was answered."""
    return answer.request.post_data_json or {}


def ranked(server: Server, mix: dict[str, float] | None) -> list[str]:
    """What a search with this mix finds."""
    asked: dict[str, Any] = {"query": QUERY, "k": 10, "weights": "mix", "mix": mix}
    return [hit["id"] for hit in server.ask("POST", "/search", asked)["hits"]]


def test_weights_without_a_mix_have_no_bar(page: Page) -> None:
    page.goto(f"/?q={QUERY.replace(' ', '+')}&weights=idf")
    expect(page.locator("#weighted .card").first).to_be_visible()
    expect(page.get_by_role("group", name="What a perfect score is made of")).to_be_hidden()


def test_the_bar_shows_what_a_perfect_score_is_made_of(page: Page, server: Server) -> None:
    open_mixed(page)
    answer = server.ask("POST", "/explain", {"query": QUERY, "weights": "mix"})
    first = answer["documents"][0]
    perfect = {part["name"]: part["factor"] * part["perfect"] for part in first["evidence"]}
    words = first["distances"]["unrelated"] - first["distances"]["equal"]
    whole = words + sum(perfect.values())
    expected = {"words": words / whole, "meaning": perfect["pooled"] / whole, "terms": perfect["lexical"] / whole}
    assert shares(page) == pytest.approx(expected, abs=1e-3)
    percents = [
        f"{name} {round(100 * expected[key])}%"
        for name, key in (("words", "words"), ("overall meaning", "meaning"), ("exact terms", "terms"))
    ]
    assert page.locator(".mix-names > span:not(.unseen)").all_inner_texts() == percents


def test_the_ranking_follows_the_handles_and_so_do_the_documents(page: Page, server: Server, watch: Watch) -> None:
    open_mixed(page)
    assert shown(page, "weighted") == ranked(server, None)
    uniform, asked = shown(page, "uniform"), len(watch.requests)
    with page.expect_response("**/explain") as answer:
        drag(page, handle(page, TERMS), -60)
    mix = sent(answer.value)["mix"]
    assert mix["lexical"] > 0.03
    assert mix["pooled"] < 0.4
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == ranked(server, mix)
    assert shown(page, "uniform") == uniform
    explained = [url for url in watch.requests[asked:] if url.endswith("/explain")]
    assert len(explained) == 1, "one when a handle comes to rest"
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_role("button", name="Reset", exact=True)).to_be_disabled()
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == ranked(server, None)


def test_a_handle_moves_the_border_it_stands_on_and_no_other(page: Page) -> None:
    open_mixed(page)
    before = shares(page)
    with page.expect_response("**/explain"):
        handle(page, MEANING).press("ArrowLeft")
    after = shares(page)
    assert after == pytest.approx(
        {"words": before["words"] - 0.02, "meaning": before["meaning"] + 0.02, "terms": before["terms"]}, abs=2e-3
    )
    with page.expect_response("**/explain"):
        handle(page, TERMS).press("ArrowRight")
    assert shares(page)["terms"] == pytest.approx(after["terms"] - 0.02, abs=2e-3)
    expect(handle(page, TERMS)).to_have_attribute(
        "aria-valuetext", re.compile(r"^words \d+%, overall meaning \d+%, exact terms \d+%$")
    )


def test_evidence_that_counts_nothing_can_be_brought_back(page: Page, server: Server) -> None:
    open_mixed(page)
    with page.expect_response("**/explain"):
        handle(page, TERMS).press("End")
    assert shares(page)["terms"] == pytest.approx(0, abs=1e-4)
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    with page.expect_response("**/explain") as answer:
        handle(page, TERMS).press("PageDown")
    assert shares(page)["terms"] == pytest.approx(0.1, abs=2e-3)
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == ranked(server, sent(answer.value)["mix"])


def test_a_changed_weight_survives_a_change_of_the_mix(page: Page) -> None:
    open_mixed(page)
    weight(page, "hip").fill("3")
    page.keyboard.press("Tab")
    with page.expect_response("**/explain"):
        handle(page, MEANING).press("ArrowLeft")
    expect(word(page, "hip")).to_contain_text("3.00")


def test_each_result_shows_what_each_part_brought(page: Page, server: Server) -> None:
    open_mixed(page)
    answer = server.ask("POST", "/explain", {"query": QUERY, "weights": "mix"})
    first = answer["documents"][0]
    brought = {part["name"]: part["contribution"] for part in first["evidence"]}
    bar = card(page, "weighted", first["id"]).locator(".score-bar")
    told = f"overall meaning {brought['pooled']:.3f}, exact terms {brought['lexical']:.3f}"
    expect(bar).to_have_attribute("aria-label", re.compile(rf"^words 0\.\d+, {re.escape(told)}$"))
    widths = bar.locator("> *").evaluate_all("parts => parts.map(part => part.getBoundingClientRect().width)")
    whole = bar.evaluate("bar => bar.getBoundingClientRect().width")
    assert sum(widths) / whole == pytest.approx(first["score"], abs=0.02)
    uniform = card(page, "uniform", shown(page, "uniform")[0]).locator(".score-bar")
    expect(uniform).to_have_attribute("aria-label", re.compile(r"^words 0\.\d+$"))


def test_reasons_name_what_the_evidence_brought(page: Page) -> None:
    open_mixed(page)
    first, second = shown(page, "weighted")[:2]
    page.get_by_role("button", name=f"Why above {second}?").click()
    why = card(page, "weighted", first).locator(".why")
    expect(why.get_by_role("listitem").filter(has_text="exact terms")).to_be_visible()
    expect(why.get_by_role("listitem").filter(has_text="overall meaning")).to_be_visible()
    differences = [number(text.split("\n")[1]) for text in why.get_by_role("listitem").all_inner_texts()]
    first_score, second_score = scores(page, "weighted")[:2]
    assert sum(differences) == pytest.approx(first_score - second_score, abs=2e-3)
    with page.expect_response("**/explain"):
        handle(page, MEANING).press("ArrowLeft")
    expect(card(page, "weighted", first).locator(".reasons")).to_be_visible()


def test_a_mix_can_be_saved(page: Page, server: Server) -> None:
    page.goto(f"/?q={QUERY.replace(' ', '+')}&weights=mix&mix=0.012,0.8")
    expect(page.get_by_role("button", name="Reset", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Save weights").click()
    question = page.get_by_role("dialog", name="Save these weights?")
    expect(question.get_by_role("listitem")).to_have_text("overall meaning0.400 → 0.800")
    question.get_by_role("button", name="Save").click()
    expect(notice(page)).to_have_text(re.compile(r"Version \d+ of the weights is now in use\."))
    expect(page.get_by_role("button", name="Reset", exact=True)).to_be_disabled()
    assert server.ask("GET", "/weights")["versions"][0]["mix"] == {"lexical": 0.012, "pooled": 0.8}


@pytest.mark.parametrize(
    "page",
    [{"reduced_motion": "reduce"}, {"viewport": {"width": 320, "height": 640}, "reduced_motion": "reduce"}],
    indirect=True,
)
def test_axe_finds_nothing_in_the_bar(page: Page) -> None:
    open_mixed(page)
    with page.expect_response("**/explain"):
        handle(page, MEANING).press("ArrowLeft")
    page.locator("#weighted .ask").first.click()
    check_accessible(page)
    check_width(page)


def test_a_new_search_begins_with_the_mix_of_the_weights(page: Page, server: Server) -> None:
    open_mixed(page)
    with page.expect_response("**/explain"):
        handle(page, TERMS).press("PageDown")
    with page.expect_response("**/explain") as answer:
        page.get_by_role("searchbox", name="Query").fill("moon tides")
        page.keyboard.press("Enter")
    assert "mix" not in sent(answer.value)
    expect(page.get_by_role("button", name="Reset", exact=True)).to_be_disabled()
    server.ask("PUT", "/weights", {"weights": "idf-soft"})
    search(page)
    expect(page.get_by_role("group", name="What a perfect score is made of")).to_be_hidden()
