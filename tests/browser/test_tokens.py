import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.looking import card, lit, search, token

HEAT = "mark => Number(getComputedStyle(mark).getPropertyValue('--heat-share'))"


def test_pieces_of_a_word_are_spelled_together_and_inspected_one_by_one(page: Page) -> None:
    search(page)
    word = page.locator(".word", has_text="osteoporosis")
    assert word.get_by_role("button").all_text_contents() == ["os", "te", "op", "oro", "sis"]
    expect(token(page, "oro in osteoporosis")).to_be_visible()
    expect(page.locator(".word.special").first).to_have_text("[CLS]")


def test_hovering_a_query_token_lights_up_what_it_matched(page: Page) -> None:
    search(page)
    assert page.locator("mark.lit").count() == 0
    token(page, "hip").hover()
    for column in ("uniform", "weighted"):
        assert lit(page, column, "hip-fracture") == "hip"
        assert lit(page, column, "bone-density") == "hips"
        expect(card(page, column, "hip-fracture").locator(".match")).to_contain_text("hip · distance 0.")
    page.mouse.move(0, 0)
    expect(page.locator("mark.lit")).to_have_count(0)


def test_a_closer_match_is_lit_more_strongly(page: Page) -> None:
    search(page)
    token(page, "hip").hover()
    close = card(page, "weighted", "hip-fracture").locator("mark.lit").evaluate(HEAT)
    far = card(page, "weighted", "bone-broth").locator("mark.lit").evaluate(HEAT)
    assert close > far > 0


def test_all_matches_glow_softly_while_no_token_is_pointed_at(page: Page) -> None:
    search(page)
    heats = card(page, "weighted", "hip-fracture").locator("mark").evaluate_all(f"marks => marks.map({HEAT})")
    assert 0 < max(heats) < 0.7
    assert len(set(heats)) > 1


def test_tokens_are_reached_by_keys_alone(page: Page) -> None:
    search(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(token(page, "what")).to_be_focused()
    page.keyboard.press("End")
    expect(token(page, r"[SEP]")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(token(page, "hip")).to_be_focused()
    assert lit(page, "weighted", "hip-fracture") == "hip"
    page.keyboard.press("Enter")
    expect(token(page, "hip")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Tab")
    assert lit(page, "weighted", "hip-fracture") == "hip"
    token(page, "hip").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("mark.lit")).to_have_count(0)


def test_a_pinned_token_stays_until_it_is_clicked_again(page: Page) -> None:
    search(page)
    token(page, "hip").click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    assert lit(page, "uniform", "hip-fracture") == "hip"
    expect(page.locator("#token-line")).to_contain_text("pinned")
    token(page, "hip").click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    expect(page.locator("mark.lit")).to_have_count(0)


def test_spans_count_code_points_so_that_emoji_shift_nothing(page: Page) -> None:
    search(page, "cafés sell crème brûlée")
    token(page, "sell").hover()
    assert lit(page, "weighted", "unicode") == "sell"
    token(page, "eme in creme").hover()
    assert lit(page, "weighted", "unicode") == "ème"


def test_a_match_outside_the_excerpt_is_reported(page: Page) -> None:
    search(page)
    page.route("**/explain", lambda route: route.fulfill(json=_far_away()))
    page.goto("/?q=x")
    token(page, "y").hover()
    expect(card(page, "weighted", "far").locator(".match")).to_contain_text("outside this excerpt")


def _far_away() -> dict[str, object]:
    tokens = [
        {"token": name, "text": name, "starts_word": True, "special": False, "weight": weight}
        for name, weight in (("x", 1.0), ("y", 0.1))
    ]
    spans = ((0, 1), (2000, 2001))
    matches = [{"word": "w", "span": span, "distance": 0.5, "contribution": -0.1} for span in spans]
    # Each match is worth some space around it, and together they are over the budget.
    return {
        "query": "x",
        "form": "l2",
        "weights": 1,
        "mix": {"lexical": 0, "pooled": 0},
        "tokens": [*tokens, *tokens[:1] * 3],
        "documents": [
            {
                "id": "far",
                "score": -0.1,
                "special_share": 0.0,
                "text": "a " * 1500,
                "metadata": {},
                "matches": [*matches, *({**matches[0], "span": (400 * n, 400 * n + 1)} for n in (1, 2, 3))],
                "evidence": [],
            }
        ],
    }
