import re

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Server
from tests.browser.looking import QUERY, card, mark_relevant, notice, scores, search, shown


def test_an_empty_page_says_what_it_is_and_waits_for_a_query(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Compare two rankings side by side")).to_be_visible()
    expect(page.get_by_role("searchbox", name="Query")).to_be_focused()
    expect(page.locator("#answer")).to_be_hidden()
    expect(page.locator("#examples")).to_be_hidden()
    expect(page.locator("#health")).to_contain_text("59 documents · minilm")


def test_both_columns_rank_as_the_server_does(page: Page, server: Server) -> None:
    search(page)
    for column, weights in (("uniform", "uniform"), ("weighted", "current")):
        hits = server.ask("POST", "/search", {"query": QUERY, "k": 10, "weights": weights})["hits"]
        assert shown(page, column) == [hit["id"] for hit in hits]
        assert scores(page, column) == pytest.approx([hit["score"] for hit in hits], abs=6e-4)


def test_what_moved_is_marked_with_a_sign_and_in_words(page: Page) -> None:
    search(page)
    before, after = shown(page, "uniform"), shown(page, "weighted")
    moved = [
        identifier
        for identifier in after
        if identifier in before and before.index(identifier) > after.index(identifier)
    ]
    assert moved
    places = before.index(moved[0]) - after.index(moved[0])
    badge = card(page, "weighted", moved[0]).locator(".badge")
    expect(badge).to_contain_text(f"▲{places}")
    expect(badge).to_contain_text(f"up {places} from rank {before.index(moved[0]) + 1} with uniform weights")


def test_a_query_is_in_the_address_and_the_back_button_works(page: Page) -> None:
    search(page, "rice")
    first = shown(page, "weighted")
    expect(page).to_have_url(re.compile(r"/\?q=rice$"))
    page.get_by_role("searchbox", name="Query").fill("moon & tides")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#weighted .card:visible").first).to_have_attribute("data-id", "tides")
    expect(page).to_have_url(re.compile(r"/\?q=moon\+%26\+tides$"))
    page.go_back()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("rice")
    expect(page.locator("#weighted .card:visible").first).to_have_attribute("data-id", first[0])
    page.go_forward()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value("moon & tides")
    page.goto("/?q=rice")
    expect(page.locator("#weighted .card:visible").first).to_have_attribute("data-id", first[0])


def test_a_slash_goes_to_the_search_box_but_can_be_typed_in_it(page: Page) -> None:
    search(page, "rice")
    page.locator("#sliders summary").focus()
    page.keyboard.press("/")
    box = page.get_by_role("searchbox", name="Query")
    expect(box).to_be_focused()
    box.fill("")
    page.keyboard.type("and/or")
    expect(box).to_have_value("and/or")


def test_another_weighting_can_be_looked_at_without_using_it(page: Page, server: Server) -> None:
    search(page)
    page.get_by_role("combobox", name="Weights").select_option("idf")
    hits = server.ask("POST", "/search", {"query": QUERY, "k": 10, "weights": "idf"})["hits"]
    expect(page).to_have_url(re.compile("weights=idf$"))
    expect(page.locator("#weighted .card:visible h3")).to_have_text([hit["id"] for hit in hits])
    assert server.ask("GET", "/weights")["version"] == 1


def test_tags_in_texts_and_queries_show_as_text(page: Page) -> None:
    tag = "<img src=x onerror='window.broken = true'> <script>window.broken = true</script> page tags"
    search(page, tag)
    expect(card(page, "weighted", "script").locator(".text")).to_contain_text("<script>window.broken = true</script>")
    expect(card(page, "weighted", "markup").locator(".text")).to_contain_text(
        '<img src=x onerror="window.broken = true">'
    )
    mark_relevant(page, "weighted", "script")
    page.get_by_role("link", name="Learn").click()
    expect(page.locator("#judgements")).to_contain_text(tag)
    assert page.evaluate("window.broken") is None
    assert page.locator("main img, main script").count() == 0


def test_a_long_text_is_shortened_to_what_matched_and_can_be_shown_whole(page: Page) -> None:
    search(page)
    doctor = card(page, "weighted", "village-doctor")
    text = doctor.locator(".text")
    expect(text).to_contain_text("what helps against osteoporosis")
    expect(text).to_contain_text("…")
    assert len(text.inner_text()) < 400
    doctor.get_by_role("button", name="Show full text").click()
    assert len(text.inner_text()) > 1000
    doctor.get_by_role("button", name="Show less").click()
    assert len(text.inner_text()) < 400


def test_more_documents_than_ten_are_shown_when_asked_for(page: Page) -> None:
    search(page)
    assert len(shown(page, "uniform")) == len(shown(page, "weighted")) == 10
    page.get_by_role("button", name=re.compile(r"Show all \d+")).click()
    assert len(shown(page, "uniform")) == len(shown(page, "weighted")) >= 20


def test_a_search_without_results_says_so(page: Page) -> None:
    page.route(
        "**/explain",
        lambda route: route.fulfill(
            json={
                "query": "x",
                "form": "l2",
                "weights": 1,
                "mix": {"lexical": 0, "pooled": 0},
                "tokens": [],
                "documents": [],
            }
        ),
    )
    page.goto("/?q=x")
    expect(notice(page)).to_have_text("No documents found.")
    expect(page.locator("#columns")).to_be_hidden()


def test_a_card_says_which_passage_of_a_long_document_it_shows(page: Page) -> None:
    def answer(route: Route) -> None:
        response = route.fetch()
        content = response.json()
        for place, document in enumerate(content["documents"]):
            document["passage"] = {"number": 1, "of": 1 + 11 * (place % 2), "start": 0, "stop": 10}
        route.fulfill(response=response, json=content)

    page.route("**/explain", answer)
    search(page)
    expect(page.locator("#weighted .card .passage:visible").first).to_have_text("passage 1 of 12")
    assert page.locator("#weighted .card .passage").count() == page.locator("#weighted .card").count() // 2
