import re
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, Watch
from tests.browser.looking import QUERY, card, notice, number, scores, search, shown, token


def ranked(answer: dict[str, Any], weights: list[float]) -> list[str]:
    """What the page must show for these weights: the definition of the score."""
    scores = {
        document["id"]: -sum(w * match["distance"] for w, match in zip(weights, document["matches"], strict=True))
        + sum(weights) * sum(answer["mix"][part["name"]] * part["value"] for part in document["evidence"])
        for document in answer["documents"]
    }
    return sorted(scores, key=lambda identifier: (-scores[identifier], identifier))


def weight(page: Page, name: str) -> Any:
    return page.get_by_role("spinbutton", name=f"weight of {name}, as a number")


def test_a_slider_ranks_anew_without_any_request(page: Page, server: Server, watch: Watch) -> None:
    answer = server.ask("POST", "/explain", {"query": QUERY, "k": 20})
    search(page)
    uniform, asked = shown(page, "uniform"), len(watch.requests)
    slider = page.get_by_role("slider", name="weight of against")
    slider.fill(slider.get_attribute("max") or "")
    weights = [token["weight"] for token in answer["tokens"]]
    weights[3] = round(float(slider.get_attribute("max") or ""), 3)
    expect(page.locator("#changed-count")).to_have_text("1 token changed")
    assert shown(page, "weighted") == ranked(answer, weights)[:10] != ranked(answer, [1.0] * len(weights))[:10]
    assert shown(page, "uniform") == uniform
    assert len(watch.requests) == asked


def test_a_weight_can_be_typed_and_reset(page: Page, server: Server) -> None:
    answer = server.ask("POST", "/explain", {"query": QUERY, "k": 20})
    search(page)
    before = shown(page, "weighted")
    weight(page, "hip").fill("9")
    page.keyboard.press("Enter")
    expect(token(page, "hip")).to_have_accessible_name(re.compile(r"weight 9.00, was 1.\d\d"))
    weights = [token["weight"] for token in answer["tokens"]]
    assert shown(page, "weighted") == ranked(answer, [*weights[:-2], 9.0, weights[-1]])[:10] != before
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("button", name="Reset")).to_be_disabled()
    assert shown(page, "weighted") == before


def test_arrow_keys_move_a_slider(page: Page) -> None:
    search(page)
    slider = page.get_by_role("slider", name="weight of hip")
    before = float(slider.input_value())
    slider.press("ArrowRight")
    expect(page.locator("#changed-count")).to_have_text("1 token changed")
    assert float(slider.input_value()) > before
    slider.press("Home")
    expect(weight(page, "hip")).to_have_value("0.00")


def test_a_weight_that_is_no_number_falls_back_to_the_servers(page: Page) -> None:
    search(page)
    box = weight(page, "hip")
    before = box.input_value()
    box.fill("")
    page.keyboard.press("Tab")
    expect(box).to_have_value(before)
    box.fill("-3")
    page.keyboard.press("Tab")
    expect(box).to_have_value("0.00")


def test_saving_weights_makes_a_new_version_after_confirmation(page: Page, server: Server) -> None:
    search(page)
    weight(page, "hip").fill("3")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Save weights").click()
    question = page.get_by_role("dialog", name="Save these weights?")
    expect(question).to_contain_text("uses it right away, for everyone")
    expect(question.get_by_role("listitem")).to_have_text(re.compile(r"hip1\.\d\d → 3\.00"))
    question.get_by_role("button", name="Cancel").click()
    assert server.ask("GET", "/weights")["version"] == 1
    page.get_by_role("button", name="Save weights").click()
    question.get_by_role("button", name="Save").click()
    expect(notice(page)).to_have_text(re.compile(r"Version \d+ of the weights is now in use\."))
    expect(page.get_by_role("button", name="Reset")).to_be_disabled()
    expect(weight(page, "hip")).to_have_value("3.00")
    assert server.ask("GET", "/weights/tokens?contains=hip&limit=1")["tokens"] == [{"token": "hip", "weight": 3.0}]


def test_a_token_that_a_query_has_twice_has_one_slider_for_both_places(page: Page, server: Server) -> None:
    query = "the moon and the tides"
    answer = server.ask("POST", "/explain", {"query": query, "k": 20})
    search(page, query)
    weight(page, "the").fill("4")
    page.keyboard.press("Tab")
    expect(page.locator("#changed-count")).to_have_text("1 token changed")
    weights = [4.0 if token["token"] == "the" else token["weight"] for token in answer["tokens"]]
    assert weights.count(4.0) == 2
    assert shown(page, "weighted") == ranked(answer, weights)[:10]


def test_saving_weights_that_are_not_in_use_starts_from_those_shown(page: Page, server: Server) -> None:
    page.goto("/?q=moon+tides&weights=idf")
    served = {one["token"]: one["weight"] for one in explained(server, "moon tides", "idf")["tokens"]}
    weight(page, "moon").fill("7")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Save weights").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(notice(page)).to_have_text(re.compile(r"Version \d+ of the weights is now in use\."))
    kept = {one["token"]: one["weight"] for one in explained(server, "moon tides", "current")["tokens"]}
    assert kept == pytest.approx({**served, "moon": 7.0})
    expect(page).to_have_url(re.compile(r"/\?q=moon\+tides$"))


def explained(server: Server, query: str, weights: str) -> dict[str, Any]:
    return server.ask("POST", "/explain", {"query": query, "weights": weights})  # type: ignore[no-any-return]


def test_words_explain_why_a_document_ranks_above_the_next(page: Page) -> None:
    search(page)
    first, second = shown(page, "weighted")[:2]
    why = card(page, "weighted", first).get_by_role("group").last
    page.get_by_text(f"Why ranked above {second}?").click()
    expect(why.get_by_role("listitem").first).to_be_visible()
    rows = why.get_by_role("listitem").all_inner_texts()
    first_score, second_score = scores(page, "weighted")[:2]
    differences = [number(text.split("\n")[1]) for text in rows]
    assert sum(differences) == pytest.approx(first_score - second_score, abs=2e-3)
    expect(why).to_contain_text(re.compile(r"Special tokens account for \d+% of this score"))
    weight(page, "hip").fill("40")
    page.keyboard.press("Enter")
    expect(page.locator("#weighted details[open] summary")).not_to_contain_text(f"{first}?")


@pytest.mark.parametrize("page", [{"reduced_motion": "reduce"}, {"reduced_motion": "no-preference"}], indirect=True)
def test_results_glide_unless_the_reader_wants_no_motion(page: Page) -> None:
    search(page)
    still = page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    page.evaluate(
        """() => { window.glides = 0; const own = Element.prototype.animate;
        Element.prototype.animate = function (...all) { window.glides++; return own.apply(this, all); } }"""
    )
    before = shown(page, "weighted")
    weight(page, "against").fill("9")
    page.keyboard.press("Enter")
    expect(page.locator("#changed-count")).to_have_text("1 token changed")
    assert shown(page, "weighted") != before
    assert (page.evaluate("window.glides") == 0) == still
