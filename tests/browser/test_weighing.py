"""Weights live on the words: dragged, typed or moved by keys, and the ranking follows."""

import re
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, Watch
from tests.browser.looking import QUERY, card, drag, notice, number, scores, search, shown, weight, word

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# Everything but the cards of the results, by place and size.
PARTS = "#search, .filters, .word, .piece, .mix, #inspector, #story, .column > header, ol.results"
AROUND = f"""() => [...document.querySelectorAll("{PARTS}")].map(node => {{
  const box = node.getBoundingClientRect();
  return [node.id || node.tagName, box.x, box.y, box.width].join(" ");
}})"""


def ranked(answer: dict[str, Any], weights: list[float]) -> list[str]:
    """What the page must show for these weights: the definition of the score."""
    scores = {
        document["id"]: -sum(w * match["distance"] for w, match in zip(weights, document["matches"], strict=True))
        + sum(weights) * sum(answer["mix"][part["name"]] * part["value"] for part in document["evidence"])
        for document in answer["documents"]
    }
    return sorted(scores, key=lambda identifier: (-scores[identifier], identifier))


def served(answer: dict[str, Any]) -> list[float]:
    return [token["weight"] for token in answer["tokens"]]


def test_dragging_a_word_ranks_anew_without_any_request(page: Page, server: Server, watch: Watch) -> None:
    answer = server.ask("POST", "/explain", {"query": QUERY, "k": 20})
    search(page)
    uniform, asked = shown(page, "uniform"), len(watch.requests)
    drag(page, word(page, "against"), 200)
    value = float(word(page, "against").locator(".value").inner_text())
    assert value == pytest.approx(answer["tokens"][3]["weight"] + 200 / 72, abs=0.02)
    weights = served(answer)
    weights[3] = value
    assert shown(page, "weighted") == ranked(answer, weights)[:10] != ranked(answer, [1.0] * len(weights))[:10]
    assert shown(page, "uniform") == uniform
    assert len(watch.requests) == asked
    expect(page.get_by_role("spinbutton")).to_have_count(0)  # a drag is no click


def test_a_word_dragged_far_to_the_left_weighs_nothing(page: Page) -> None:
    search(page)
    drag(page, word(page, "hip"), -400)
    expect(word(page, "hip").locator(".value")).to_have_text("0.00")


@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_a_word_is_dragged_by_touch_and_the_first_result_stays_in_view(page: Page) -> None:
    search(page)
    box = word(page, "against").bounding_box()
    assert box is not None
    start = {"x": box["x"] + 20, "y": box["y"] + 15}
    touch = page.context.new_cdp_session(page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [start]})
    for step in range(1, 8):
        touch.send(
            "Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{**start, "x": start["x"] + 20 * step}]}
        )
    first = page.locator("#weighted .card:visible").first.bounding_box()
    assert first is not None
    assert first["y"] + first["height"] <= 844
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(word(page, "against")).to_have_attribute("aria-valuetext", re.compile(r"^2\.\d\d, was"))


def test_nothing_but_the_results_moves_while_a_weight_does(page: Page) -> None:
    search(page)
    box = word(page, "against").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    before = page.evaluate(AROUND)
    page.mouse.down()
    for across in (5, 60, 130, 300, -200):
        page.mouse.move(box["x"] + 10 + across, box["y"] + 10)
        page.evaluate("new Promise(requestAnimationFrame)")
        assert page.evaluate(AROUND) == before
    page.mouse.up()


def test_a_move_is_drawn_within_fifty_milliseconds_with_a_hundred_results(page: Page) -> None:
    def many(route: Any) -> None:
        response = route.fetch()
        content = response.json()
        copies = [
            {
                **document,
                "id": f"{document['id']}-{copy}",
                "evidence": [{**part, "value": part["value"] * (1 - 0.1 * copy)} for part in document["evidence"]],
            }
            for copy in range(4)
            for document in content["documents"]
        ]
        route.fulfill(response=response, json={**content, "documents": copies[:100]})

    page.route("**/explain", many)
    page.goto(f"/?q={QUERY.replace(' ', '+')}&shown=100")
    expect(page.locator("#weighted .card:visible")).to_have_count(100)
    word(page, "against").focus()
    # From the key until everything is laid out anew; the median of several, because the machine may be busy.
    took = page.evaluate(
        """async () => {
          const word = document.activeElement, times = [];
          for (let n = 0; n < 21; n++) {
            const started = performance.now();
            word.dispatchEvent(new KeyboardEvent("keydown", { key: n % 7 < 4 ? "PageUp" : "PageDown", bubbles: true }));
            word.getBoundingClientRect();
            times.push(performance.now() - started);
            await new Promise(requestAnimationFrame);
          }
          return times.sort((a, b) => a - b)[10];
        }"""
    )
    assert took <= 50


def test_a_weight_can_be_typed_and_reset(page: Page, server: Server) -> None:
    answer = server.ask("POST", "/explain", {"query": QUERY, "k": 20})
    search(page)
    before = shown(page, "weighted")
    weight(page, "hip").fill("9")
    page.keyboard.press("Enter")
    expect(word(page, "hip")).to_have_attribute("aria-valuetext", re.compile(r"^9\.00, was 1\.\d\d$"))
    weights = served(answer)
    assert shown(page, "weighted") == ranked(answer, [*weights[:-2], 9.0, weights[-1]])[:10] != before
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_role("button", name="Reset", exact=True)).to_be_disabled()
    assert shown(page, "weighted") == before


def test_one_word_can_be_reset_alone(page: Page) -> None:
    search(page)
    weight(page, "what").fill("3")
    page.keyboard.press("Enter")
    weight(page, "hip").fill("3")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="reset the weight of hip").click()
    expect(word(page, "hip")).not_to_have_attribute("aria-valuetext", re.compile("was"))
    expect(word(page, "what")).to_have_attribute("aria-valuetext", re.compile(r"^3\.00, was"))


def test_arrow_keys_move_a_weight(page: Page) -> None:
    search(page)
    word(page, "hip").focus()
    before = float(word(page, "hip").get_attribute("aria-valuenow") or "")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("PageUp")
    expect(word(page, "hip")).to_have_attribute("aria-valuenow", f"{before + 0.6:.2f}".rstrip("0"))
    for _ in range(5):
        page.keyboard.press("PageDown")
    expect(word(page, "hip")).to_have_attribute("aria-valuenow", "0")
    slider = page.get_by_role("slider", name="weight of hip, as a slider")
    page.keyboard.press("Enter")
    slider.press("ArrowRight")
    expect(weight(page, "hip")).to_have_value("0.01")


def test_buttons_halve_double_and_ignore(page: Page) -> None:
    search(page)
    box = weight(page, "hip")
    before = float(box.input_value())
    page.get_by_role("button", name="twice the weight of hip").click()
    assert float(box.input_value()) == pytest.approx(2 * before, abs=0.02)
    page.get_by_role("button", name="half the weight of hip").click()
    expect(box).to_have_value(f"{before:.2f}")
    page.get_by_role("button", name="ignore hip").click()
    expect(box).to_have_value("0.00")


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
    expect(page.get_by_role("button", name="Reset", exact=True)).to_be_disabled()
    expect(weight(page, "hip")).to_have_value("3.00")
    expect(page).to_have_url(re.compile(r"\?q=[^&]*$"))
    [hip] = server.ask("GET", "/weights/tokens?contains=hip&limit=1")["tokens"]
    assert (hip["token"], hip["weight"], hip["origin"]) == ("hip", 3.0, "edited")


@pytest.mark.parametrize("value", ["2.89", "0.07", "123.456"])
def test_saved_weights_are_not_changed_ones_any_more(page: Page, value: str) -> None:
    """The server rounds them to 32 bits, and an address to 6 digits."""
    search(page)
    for name in ("osteoporosis", "hip"):
        weight(page, name).fill(value)
        page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("weight="))
    page.get_by_role("button", name="Save weights").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(notice(page)).to_have_text(re.compile(r"Version \d+ of the weights is now in use\."))
    expect(page.get_by_role("button", name="Save weights")).to_be_disabled()
    expect(page.locator(".word.changed")).to_have_count(0)
    expect(page.locator("#story")).not_to_contain_text("You")
    page.wait_for_timeout(400)  # the address is written after a rest
    expect(page).to_have_url(re.compile(r"\?q=[^&]*$"))


def test_a_token_that_a_query_has_twice_has_one_weight_at_both_places(page: Page, server: Server) -> None:
    query = "the moon and the tides"
    answer = server.ask("POST", "/explain", {"query": query, "k": 20})
    search(page, query)
    page.get_by_role("slider", name="weight of the", exact=True).first.click()
    page.get_by_role("spinbutton", name="weight of the, as a number").fill("4")
    page.keyboard.press("Tab")
    expect(page.get_by_role("slider", name="weight of the", exact=True).last).to_contain_text("4.00")
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
    page.get_by_role("button", name=f"Why above {second}?").click()
    why = card(page, "weighted", first).locator(".why")
    expect(why.get_by_role("listitem").first).to_be_visible()
    rows = why.get_by_role("listitem").all_inner_texts()
    first_score, second_score = scores(page, "weighted")[:2]
    differences = [number(text.split("\n")[1]) for text in rows]
    assert sum(differences) == pytest.approx(first_score - second_score, abs=2e-3)
    expect(why).to_contain_text(re.compile(r"Special tokens account for \d+% of this score"))
    weight(page, "hip").fill("40")
    page.keyboard.press("Enter")
    expect(page.locator("#weighted .ask[aria-expanded=true]")).not_to_contain_text(f"{first}?")


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
    expect(word(page, "against")).to_contain_text("9.00")
    assert shown(page, "weighted") != before
    assert (page.evaluate("window.glides") == 0) == still
