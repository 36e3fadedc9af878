"""What weighting changed: lines between the columns, one sentence, and an announcement."""

import re
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.looking import card, search, shown, weight, word


def moved(page: Page) -> tuple[list[str], list[str], list[str]]:
    """Results that changed their rank, that entered the top ten, and that left it."""
    before, after = shown(page, "uniform"), shown(page, "weighted")
    stayed = [one for one in after if one in before and before.index(one) != after.index(one)]
    return stayed, [one for one in after if one not in before], [one for one in before if one not in after]


def change(page: Page) -> None:
    """A weight that moves many results, some of them in and out of the top ten."""
    weight(page, "helps").fill("9")
    page.keyboard.press("Enter")
    stayed, entered, left = moved(page)
    assert stayed
    assert entered
    assert left


@pytest.mark.parametrize("page", [{"reduced_motion": "reduce"}], indirect=True)
def test_a_line_joins_the_old_and_the_new_place_of_each_result_that_moved(page: Page) -> None:
    search(page)
    change(page)
    stayed, entered, left = moved(page)
    lines = page.locator("#lines path").evaluate_all(
        """paths => paths.map(path => {
          const { y, width, height } = path.getBBox();
          return [path.dataset.id, { y, width, height }];
        })"""
    )
    assert sorted(name for name, _ in lines) == sorted([*stayed, *entered, *left])
    gap = page.locator("#lines").bounding_box()
    assert gap is not None
    for name, box in lines:
        if name in stayed:
            heads = [card(page, column, name).bounding_box() for column in ("uniform", "weighted")]
            ends = sorted(head["y"] + 21 - gap["y"] for head in heads if head)
            assert [box["y"], box["y"] + box["height"]] == pytest.approx(ends, abs=2)
            assert box["width"] == pytest.approx(gap["width"], abs=1)
        else:
            assert box["width"] < gap["width"] / 2  # it comes from below, or goes there


def test_lines_follow_what_makes_results_taller(page: Page) -> None:
    search(page)
    change(page)
    before = page.locator("#lines path").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
    page.locator("#weighted .ask").first.click()
    expect(page.locator("#weighted .reasons").first).to_be_visible()
    page.wait_for_function(
        """before => [...document.querySelectorAll("#lines path")]
            .some((path, n) => path.getAttribute("d") !== before[n])""",
        arg=before,
    )


def test_pointing_at_a_result_marks_its_line_and_its_twin(page: Page) -> None:
    search(page)
    change(page)
    name = moved(page)[0][0]
    card(page, "uniform", name).hover()
    expect(page.locator(f'#lines path[data-id="{name}"]')).to_have_class(re.compile("twin"))
    expect(card(page, "weighted", name)).to_have_class(re.compile("twin"))


def served_with(page: Page, weights: dict[str, float], *, evidence: bool) -> None:
    """Answer with these weights, and 1 for all other tokens; evidence counts for one document, if at all."""

    def answer(route: Any) -> None:
        response = route.fetch()
        content = response.json()
        for token in content["tokens"]:
            token["weight"] = weights.get(token["text"], 1.0)
        for place, document in enumerate(content["documents"]):
            for part in document["evidence"]:
                part["value"] = part["perfect"] * (evidence and part["name"] == "lexical" and place == 5)
        route.fulfill(response=response, json=content)

    page.route("**/explain", answer)


def test_one_sentence_says_what_rose_and_why(page: Page) -> None:
    served_with(page, {"helps": 9.0}, evidence=False)
    search(page)
    count = page.locator("#words .piece").count() + 1  # both special tokens have one line
    share, equal = round(100 * 9 / (8 + count)), round(100 / count)
    story = page.locator("#story")
    expect(story).to_have_text(
        re.compile(rf"^\S+ rises from \d+ to \d+ because helps has {share}% of the weight instead of {equal}%\.$")
    )
    name = story.locator("strong").inner_text()
    before, after = re.findall(r"\d+", story.inner_text())[:2]
    assert shown(page, "weighted")[int(after) - 1] == name
    assert shown(page, "uniform")[int(before) - 1] == name
    assert int(before) > int(after)


def test_a_rise_that_a_word_caused_is_told_rather_than_one_by_evidence(page: Page) -> None:
    served_with(page, {"helps": 9.0}, evidence=True)
    search(page)
    expect(page.locator("#story")).to_contain_text("because helps has")


def test_the_sentence_names_evidence_if_that_lifted_a_result_and_the_best_word_beside_it(page: Page) -> None:
    served_with(page, {"hip": 1.01}, evidence=True)
    search(page)
    expect(page.locator("#story")).to_contain_text(
        re.compile(r"because exact terms are counted as well( and \w+ (counts more|counts less|matches it better))?\.$")
    )


def test_a_change_by_the_user_is_told_with_what_it_moved(page: Page) -> None:
    search(page)
    before = shown(page, "weighted")
    weighed = word(page, "helps").locator(".value").inner_text()
    change(page)
    after = shown(page, "weighted")
    story = page.locator("#story")
    told = re.compile(
        rf"^You raised helps from {re.escape(weighed)} to 9\.00: "
        r"\S+ (?:rises from (\d+) to (\d+)|enters the top 10 at (\d+))(?: \((\d+) with uniform weights\))?\.$"
    )
    expect(story).to_have_text(told)
    name, found = story.locator("strong").inner_text(), told.match(story.inner_text())
    assert found is not None
    was, now, entered, uniform = (int(part or 0) for part in found.groups())
    assert after[(now or entered) - 1] == name
    assert (before[was - 1] == name) if was else name not in before
    assert uniform != was, "the rank in the other column is told where it differs"
    beside = shown(page, "uniform")
    rank = uniform or was
    assert (beside[rank - 1] == name) if 0 < rank <= len(beside) else name not in beside


def test_less_weight_is_told_by_the_result_that_loses(page: Page) -> None:
    search(page)
    weight(page, "hip").fill("0")
    page.keyboard.press("Enter")
    expect(page.locator("#story")).to_have_text(
        re.compile(r"^You lowered hip from 1\.\d\d to 0\.00: \S+ (falls from \d+ to \d+|drops out of the top 10)")
    )


def test_two_changes_are_told_and_more_are_counted(page: Page) -> None:
    search(page)
    for name, value in (("hip", "0"), ("helps", "2")):
        weight(page, name).fill(value)
        page.keyboard.press("Enter")
    story = page.locator("#story")
    expect(story).to_contain_text(
        re.compile(r"^You raised helps from 1\.\d\d to 2\.00 and lowered hip from 1\.\d\d to 0\.00: ")
    )
    weight(page, "the").fill("3")
    page.keyboard.press("Enter")
    expect(story).to_contain_text("You changed 3 words: ")
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(story).not_to_contain_text("You")


def test_a_change_that_moves_nothing_says_so(page: Page) -> None:
    search(page)
    weighed = word(page, "hip").locator(".value").inner_text()
    weight(page, "hip").fill(f"{float(weighed) + 0.001}")
    page.keyboard.press("Enter")
    expect(page.locator("#story")).to_contain_text("You raised hip from")
    expect(page.locator("#story")).to_contain_text("no result in the top 10 moves.")


def test_a_change_of_the_mix_is_told(page: Page) -> None:
    search(page)
    with page.expect_response("**/explain"):
        page.get_by_role("slider", name="words, against overall meaning").press("PageDown")
    expect(page.locator("#story")).to_contain_text(
        re.compile(r"^You (raised overall meaning|lowered all words) from \d+% to \d+%: ")
    )


def test_equal_rankings_are_called_that(page: Page) -> None:
    served_with(page, {}, evidence=False)
    search(page, "moon tides")
    assert shown(page, "uniform") == shown(page, "weighted")
    expect(page.locator("#story")).to_have_text("Both rankings have the same top 10.")
    expect(page.locator("#lines path")).to_have_count(0)
    expect(page.locator("#moves")).to_have_text("No result moved.")


def test_moves_are_announced_once_a_weight_rests(page: Page) -> None:
    search(page)
    change(page)
    stayed, entered, left = moved(page)
    results = "1 result" if len(stayed) == 1 else f"{len(stayed)} results"
    told = f"{results} moved, {len(entered)} entered and {len(left)} left the top 10."
    assert page.locator("#moves").inner_text() != told, "a screen reader should not talk while a weight moves"
    expect(page.get_by_role("status").and_(page.locator("#moves"))).to_have_text(told)


def test_badges_say_how_far_and_who_is_new_or_gone(page: Page) -> None:
    search(page)
    change(page)
    stayed, entered, left = moved(page)
    before, after = shown(page, "uniform"), shown(page, "weighted")
    name = next(one for one in stayed if before.index(one) > after.index(one))
    places = before.index(name) - after.index(name)
    badge = card(page, "weighted", name).locator(".badge")
    expect(badge).to_contain_text(f"▲{places}")
    expect(badge).to_contain_text(f"up {places} from rank {before.index(name) + 1} with uniform weights")
    expect(card(page, "weighted", entered[0]).locator(".badge")).to_contain_text("▲ new")
    expect(card(page, "uniform", left[0]).locator(".badge")).to_contain_text("drops out")


@pytest.mark.parametrize("page", [{"viewport": {"width": 390, "height": 844}}], indirect=True)
def test_one_column_has_no_lines(page: Page) -> None:
    search(page)
    word(page, "against").focus()
    page.keyboard.press("PageUp")
    expect(page.locator("#lines path")).to_have_count(0)
    expect(page.locator("#story")).to_contain_text("You raised against from")
