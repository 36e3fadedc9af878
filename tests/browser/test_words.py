"""The words of the query: what they matched, and how they are reached."""

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Locator, Page, expect

from tests.browser.looking import card, lit, search, shown, weight, word

HEAT = "mark => Number(getComputedStyle(mark).getPropertyValue('--heat-share'))"


def thickness(words: Locator) -> list[float]:
    """The thickness of the line below each piece of some words, in pixels."""
    return words.locator(".piece").evaluate_all(  # type: ignore[no-any-return]
        "pieces => pieces.map(piece => parseFloat(getComputedStyle(piece, '::after').height))"
    )


def test_pieces_of_a_word_are_one_word_and_special_tokens_are_one_at_the_end(page: Page) -> None:
    search(page)
    expect(word(page, "osteoporosis")).to_contain_text("osteoporosis")
    words = page.locator("#words .word .pieces")
    expect(words).to_have_text(["what", "helps", "against", "osteoporosis", "of", "the", "hip", "special tokens"])


def test_a_line_is_as_thick_as_the_weight_whatever_the_others_weigh(page: Page) -> None:
    search(page)
    before = thickness(page.locator("#words"))
    weights = [float(text) for text in page.locator("#words .value").all_text_contents()]
    assert before[1] == pytest.approx(3 * weights[1], abs=0.1)
    weight(page, "against").fill("3.9")
    page.keyboard.press("Enter")
    after = thickness(page.locator("#words"))
    assert after[2] == pytest.approx(3 * 3.9, abs=0.1)
    assert after[:2] + after[3:] == before[:2] + before[3:]


def test_hovering_a_word_lights_up_what_it_matched(page: Page) -> None:
    search(page)
    assert page.locator("mark.lit").count() == 0
    word(page, "hip").hover()
    for column in ("uniform", "weighted"):
        assert lit(page, column, "hip-fracture") == "hip"
        assert lit(page, column, "bone-density") == "hips"
        match = card(page, column, "hip-fracture").locator(".match")
        expect(match).to_contain_text(re.compile(r"^hip · similarity 0\.\d\d · adds 0\.\d+ \(\d+% of the score\)$"))
    expect(page.locator("#inspector")).to_contain_text("hip · close match in")
    page.mouse.move(0, 0)
    expect(page.locator("mark.lit")).to_have_count(0)


def test_a_closer_match_is_lit_more_strongly(page: Page) -> None:
    search(page)
    word(page, "hip").hover()
    close = card(page, "weighted", "hip-fracture").locator("mark.lit").evaluate(HEAT)
    far = card(page, "weighted", "bone-broth").locator("mark.lit").evaluate(HEAT)
    assert close > far > 0


def test_all_matches_glow_softly_while_no_word_is_pointed_at(page: Page) -> None:
    search(page)
    heats = card(page, "weighted", "hip-fracture").locator("mark").evaluate_all(f"marks => marks.map({HEAT})")
    assert 0 < max(heats) < 0.7
    assert len(set(heats)) > 1


def test_raising_one_word_does_not_fade_what_the_others_matched(page: Page) -> None:
    search(page)

    def heats() -> dict[str, float]:
        marks = card(page, "weighted", "bone-density").locator("mark")
        return marks.evaluate_all(f"marks => Object.fromEntries(marks.map(mark => [mark.textContent, ({HEAT})(mark)]))")  # type: ignore[no-any-return]

    before = heats()
    weight(page, "what").fill("40")
    page.keyboard.press("Enter")
    word(page, "what").click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    assert heats()["Osteoporosis"] == before["Osteoporosis"] > 0


def test_whole_words_are_marked_and_punctuation_is_not(page: Page) -> None:
    search(page)
    texts = page.locator(".card mark").all_text_contents()
    assert texts
    assert not [text for text in texts if not re.search(r"\w", text)], "punctuation alone"
    slows = card(page, "weighted", "bone-density").locator("mark", has_text="s").all_text_contents()
    assert not [text for text in slows if len(text) == 1]
    search(page, "bone")
    word(page, "bone").hover()
    for text in page.locator(".card mark.lit").all_text_contents():
        assert re.fullmatch(r"\w+", text)


def test_pointing_at_a_word_moves_the_excerpt_to_its_match_and_nothing_else(page: Page) -> None:
    search(page)
    doctor = card(page, "weighted", "village-doctor")
    heights = "cards => cards.map(card => card.offsetHeight)"
    before = page.locator("#weighted .card:visible").evaluate_all(heights)
    word(page, "osteoporosis").hover()
    expect(doctor.locator(".text mark.lit").first).to_be_visible()
    assert lit(page, "weighted", "village-doctor") == "osteoporosis"
    text = doctor.locator(".text")
    for name in ("what", "hip", "of"):
        word(page, name).hover()
        mark = text.locator("mark.lit").first
        if mark.count():
            line, box = mark.bounding_box(), text.bounding_box()
            assert line is not None
            assert box is not None
            assert line["y"] + line["height"] <= box["y"] + box["height"] + 1, f"the match of {name} is cut off"
    assert page.locator("#weighted .card:visible").evaluate_all(heights) == before


def test_words_are_reached_by_keys_alone(page: Page) -> None:
    search(page)
    word(page, "what").focus()
    page.keyboard.press("End")
    expect(word(page, "special tokens")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(word(page, "hip")).to_be_focused()
    assert lit(page, "weighted", "hip-fracture") == "hip"
    page.keyboard.press("Enter")
    expect(weight(page, "hip")).to_be_visible()
    page.keyboard.press("Tab")
    assert lit(page, "weighted", "hip-fracture") == "hip"
    word(page, "hip").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("mark.lit")).to_have_count(0)


def test_only_one_word_is_a_tab_stop(page: Page) -> None:
    search(page)
    assert page.locator("#words [tabindex='0']").count() == 1
    page.get_by_role("button", name="Copy link").focus()
    page.keyboard.press("Tab")
    expect(word(page, "what")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("slider", name="words, against overall meaning")).to_be_focused()


def test_a_clicked_word_stays_until_it_is_clicked_again(page: Page) -> None:
    search(page)
    word(page, "hip").click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    assert lit(page, "uniform", "hip-fracture") == "hip"
    expect(page.get_by_role("spinbutton", name="weight of hip, as a number")).to_be_visible()
    word(page, "hip").click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    expect(page.locator("mark.lit")).to_have_count(0)
    expect(page.get_by_role("spinbutton")).to_have_count(0)


def test_one_piece_of_a_word_can_be_looked_at_and_weighed_alone(page: Page) -> None:
    search(page)
    word(page, "osteoporosis").click()
    pieces = page.locator("#inspector .piece-button")
    assert pieces.all_text_contents() == ["os", "te", "op", "oro", "sis"]
    before = thickness(word(page, "osteoporosis"))
    pieces.nth(3).click()
    box = page.get_by_role("spinbutton", name="weight of oro in osteoporosis, as a number")
    box.fill("4")
    page.keyboard.press("Enter")
    after = thickness(word(page, "osteoporosis"))
    assert after[3] == pytest.approx(12)
    assert after[:3] + after[4:] == before[:3] + before[4:]


def test_spans_count_code_points_so_that_emoji_shift_nothing(page: Page) -> None:
    search(page, "cafés sell crème brûlée")
    word(page, "sell").hover()
    assert lit(page, "weighted", "unicode") == "sell"
    word(page, "creme").hover()
    assert "ème" in lit(page, "weighted", "unicode")


def test_a_title_is_a_headline_whose_matches_are_highlighted_there(page: Page) -> None:
    def titled(route: object) -> None:
        response = route.fetch()  # type: ignore[attr-defined]
        content = response.json()
        for document in content["documents"]:
            if document["id"] == "hip-fracture":
                document["title"] = "After a fracture of the hip"
        route.fulfill(response=response, json=content)  # type: ignore[attr-defined]

    page.route("**/explain", titled)
    search(page)
    word(page, "hip").hover()
    own = card(page, "weighted", "hip-fracture")
    expect(own.locator("h3")).to_have_text("After a fracture of the hip")
    expect(own.locator("h3 mark.lit")).to_have_text("hip")
    expect(own.locator(".text")).to_have_text(re.compile("^most patients"))
    expect(own.locator(".card-head .id")).to_have_text("hip-fracture")
    assert "hip-fracture" in shown(page, "weighted")
    above = shown(page, "weighted")[shown(page, "weighted").index("hip-fracture") - 1]
    expect(card(page, "weighted", above).locator(".ask")).to_have_text("Why above After a fracture of the hip?")
