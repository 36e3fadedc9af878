import re

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, Watch
from tests.browser.looking import notice, search


def rows(page: Page, caption: str) -> list[list[str]]:
    """The words, documents and weights of a table, by the beginning of its caption."""
    table = page.get_by_role("table", name=caption)
    return table.locator("tbody tr").evaluate_all(  # type: ignore[no-any-return]
        """rows => rows.map(row => [row.querySelector(".token-name").textContent, row.cells[1].textContent,
        row.querySelector("input").value])"""
    )


def test_the_distribution_is_shown_in_words_and_as_bars(page: Page, server: Server) -> None:
    answer = server.ask("GET", "/weights/distribution")
    page.goto("/?view=weights")
    expect(page.locator("#distribution-text")).to_contain_text(f"{answer['tokens']} tokens occur in 59 documents.")
    expect(page.locator("#distribution-text")).to_contain_text("is the lightest and")
    bars = page.get_by_role("toolbar", name="Distribution").get_by_role("button")
    expect(bars).to_have_count(len(answer["bins"]))
    names = [bar.get_attribute("aria-label") or "" for bar in bars.all()]
    counted = [int(name.split(": ")[1].split()[0]) for name in names]
    assert counted == [one["tokens"] for one in answer["bins"]]
    expect(page.locator(".landmark", has_text=answer["lightest"][0]["text"]).first).to_be_visible()


def test_words_at_both_ends_are_listed_with_their_documents(page: Page, server: Server) -> None:
    answer = server.ask("GET", "/weights/distribution")
    page.goto("/?view=weights")
    for caption, words in (("The heaviest", answer["heaviest"]), ("The lightest", answer["lightest"])):
        expect(page.get_by_role("table", name=caption)).to_be_visible()
        assert rows(page, caption) == [
            [one["text"], str(one["documents"]), f"{one['weight']:.2f}"] for one in words[: len(rows(page, caption))]
        ]


def test_a_bar_lists_its_tokens_and_the_keyboard_reaches_every_bar(page: Page) -> None:
    page.goto("/?view=weights")
    bars = page.get_by_role("toolbar", name="Distribution").get_by_role("button")
    expect(bars.first).to_be_visible()
    page.get_by_role("link", name="Evaluate").focus()
    page.get_by_role("button", name=re.compile("Dark|Light")).focus()
    page.keyboard.press("Tab")
    expect(bars.first).to_be_focused()
    page.keyboard.press("End")
    expect(bars.last).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(bars.last).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#tokens-found")).to_contain_text(re.compile(r"^\d+ tokens weigh 1.* the 20 most frequent"))
    expect(page.locator(".token-table tbody tr")).to_have_count(20)
    page.keyboard.press("Enter")
    expect(bars.last).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".token-table")).to_have_count(2)


def test_a_word_is_found_with_its_pieces_documents_and_origin(page: Page, watch: Watch) -> None:
    page.goto("/?view=weights")
    box = page.get_by_label("Find a word")
    box.fill("osteoporosis")
    expect(page.locator(".token-table")).to_have_count(1)
    expect(page.locator(".token-table caption")).to_have_text(
        re.compile(r"“osteoporosis” is split into 5 pieces: os …te …op …oro …sis\.")
    )
    assert [row[:2] for row in rows(page, "“osteoporosis”")] == [
        [piece, "2"] for piece in ("os", "…te", "…op", "…oro", "…sis")
    ]
    expect(page.locator(".token-table tbody tr").first).to_contain_text("from its rarity")
    box.fill("bones")
    expect(page.locator(".token-table caption")).to_have_text("2 tokens contain “bones”")
    assert [row[0] for row in rows(page, "2 tokens")] == ["bones", "cheekbones"]
    expect(page.get_by_role("row", name="cheekbones")).to_contain_text("in no document")
    box.fill("<b>nothing</b>")
    expect(page.locator("#tokens-found")).to_contain_text("No token contains “<b>nothing</b>”.")
    box.fill("[MASK]")
    expect(page.get_by_role("row", name="[MASK]")).to_contain_text("a special token")
    asked = len(watch.requests)
    box.press_sequentially("abcdef", delay=10)
    expect(page.locator("#tokens-found")).to_contain_text("abcdef")
    assert len(watch.requests) - asked <= 2, "a request for what was typed, not for each letter"


def test_a_weight_is_changed_by_hand_after_a_confirmation(page: Page, server: Server) -> None:
    before = server.ask("GET", "/weights/tokens?contains=hip&limit=1")["tokens"][0]["weight"]
    page.goto("/?view=weights")
    page.get_by_label("Find a word").fill("hip")
    box = page.get_by_role("spinbutton", name="weight of hip", exact=True)
    box.fill("3.5")
    page.keyboard.press("Tab")
    expect(page.locator("#edit-count")).to_have_text("1 weight changed, not saved yet")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("#edits")).to_be_hidden()
    expect(box).to_have_value(f"{before:.2f}")
    box.fill("-1")
    page.keyboard.press("Tab")
    expect(box).to_have_value("0")
    box.fill("3.5")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Save…").click()
    question = page.get_by_role("dialog", name="Save these weights?")
    expect(question.get_by_role("listitem")).to_have_text([f"hip{before:.2f} → 3.50"])
    question.get_by_role("button", name="Cancel").click()
    assert server.ask("GET", "/weights")["version"] == 1
    page.get_by_role("button", name="Save…").click()
    question.get_by_role("button", name="Save").click()
    expect(notice(page)).to_have_text(re.compile(r"Version \d+ of the weights is now in use\."))
    expect(page.get_by_role("row", name="hip", exact=False).first).to_contain_text(f"set by hand, {before:.2f} before")
    used = page.locator("#versions [aria-current]")
    expect(used).to_contain_text("Version 1, changed by hand")
    [hip] = server.ask("GET", "/weights/tokens?contains=hip&limit=1")["tokens"]
    assert (hip["weight"], hip["origin"]) == (3.5, "edited")


def test_versions_say_what_made_them_and_how_they_differ(page: Page, server: Server) -> None:
    server.ask("PUT", "/weights", {"weights": "uniform"})
    edited = server.ask("PUT", "/weights", {"tokens": {"hip": 2.5}, "mix": {"pooled": 0.25}})["version"]
    server.ask("POST", "/weights/use", {"version": 1})
    page.goto("/?view=weights")
    first = page.locator(".version").first
    expect(first).to_contain_text(f"Version {edited - 1}, changed by hand")
    expect(first).to_contain_text(f"Compared with version {edited - 1}, “hip” 1.00 → 2.50; overall meaning 0 → 0.25.")
    first.get_by_text("Compare with the one in use").click()
    expect(first.locator(".change-list li").first).to_contain_text("hip")
    expect(first.locator(".change-list li").first).to_contain_text("→ 2.50")
    expect(first.locator(".change-details")).to_contain_text(re.compile(r"\d+ tokens changed: .*; most of all “"))


def test_changes_that_are_not_saved_go_with_the_version_that_they_were_made_to(page: Page, server: Server) -> None:
    server.ask("PUT", "/weights", {"weights": "uniform"})
    server.ask("POST", "/weights/use", {"version": 1})
    page.goto("/?view=weights")
    page.get_by_label("Find a word").fill("hip")
    box = page.get_by_role("spinbutton", name="weight of hip", exact=True)
    box.fill("3.5")
    page.keyboard.press("Tab")
    expect(page.locator("#edits")).to_be_visible()
    page.get_by_role("button", name="Use version").first.click()
    expect(notice(page)).to_contain_text("is now in use")
    expect(page.locator("#edits")).to_be_hidden()
    expect(box).not_to_have_value("3.5")


def test_an_earlier_version_can_be_used_again(page: Page, server: Server) -> None:
    search(page)
    weighted = page.locator("#weighted .card:visible .score").all_text_contents()
    page.get_by_role("link", name="Weights", exact=True).click()
    page.get_by_role("button", name="Uniform", exact=True).click()
    question = page.get_by_role("dialog", name="Use these weights?")
    expect(question).to_contain_text("uses it right away, for everyone")
    question.get_by_role("button", name="Cancel").click()
    assert server.ask("GET", "/weights")["version"] == 1
    page.get_by_role("button", name="Uniform", exact=True).click()
    question.get_by_role("button", name="Save").click()
    expect(notice(page)).to_have_text(re.compile(r"Version \d+ of the weights is now in use\."))
    newest = server.ask("GET", "/weights")["version"]
    used = page.locator("#versions [aria-current]")
    expect(used).to_contain_text(str(newest))
    expect(page.locator("#distribution-text")).to_contain_text("Most of them weigh 1.00.")
    page.get_by_role("link", name="Search").click()
    uniform = page.locator("#uniform .card:visible .score").all_text_contents()
    expect(page.locator("#weighted .card:visible .score")).to_have_text(uniform)
    page.get_by_role("link", name="Weights", exact=True).click()
    if page.locator("#more-versions").is_visible():
        page.locator("#more-versions").click()
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
