import re

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Server
from tests.browser.looking import QUERY, card, mark_relevant, notice, scores, search, shown, weight, word


def test_an_empty_page_says_what_it_is_and_waits_for_a_query(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Two rankings side by side")).to_be_visible()
    expect(page.get_by_role("searchbox", name="Query")).to_be_focused()
    expect(page.locator("#answer")).to_be_hidden()
    expect(page.locator("#judged")).to_be_hidden()
    expect(page.locator("#health")).to_contain_text("59 documents · minilm")


def test_both_columns_rank_as_the_server_does(page: Page, server: Server) -> None:
    search(page)
    for column, weights in (("uniform", "uniform"), ("weighted", "current")):
        hits = server.ask("POST", "/search", {"query": QUERY, "k": 10, "weights": weights})["hits"]
        assert shown(page, column) == [hit["id"] for hit in hits]
        assert scores(page, column) == pytest.approx([hit["score"] for hit in hits], abs=6e-4)


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
    page.get_by_role("button", name="Copy link").focus()
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
    assert len(text.inner_text()) < 250
    doctor.get_by_role("button", name="Show all of village-doctor").click()
    assert len(text.inner_text()) > 1000
    doctor.get_by_role("button", name="Show less of village-doctor").click()
    assert len(text.inner_text()) < 250


def test_more_results_are_loaded_when_asked_for(page: Page, server: Server) -> None:
    search(page)
    expect(page.locator("#pool")).to_have_text(re.compile(r"^10 of \d+ loaded · \d+ ms$"))
    for count in (20, 30):
        page.get_by_role("button", name="Load more").click()
        expect(page.locator("#weighted .card:visible")).to_have_count(count)
        assert len(shown(page, "uniform")) == count
    hits = server.ask("POST", "/search", {"query": QUERY, "k": 30})["hits"]
    assert shown(page, "weighted") == [hit["id"] for hit in hits]
    expect(page).to_have_url(re.compile("shown=30"))
    page.reload()
    expect(page.locator("#weighted .card:visible")).to_have_count(30)


def test_a_link_brings_back_weights_and_mix(page: Page) -> None:
    search(page)
    weight(page, "against").fill("3.5")
    page.keyboard.press("Enter")
    with page.expect_response("**/explain"):
        page.get_by_role("slider", name="overall meaning, against exact terms").press("PageDown")
    expect(page).to_have_url(re.compile("weight=against"))
    expect(page).to_have_url(re.compile("mix="))
    before, mix = shown(page, "weighted"), page.locator(".mix-names").inner_text()
    page.goto(page.url)
    expect(word(page, "against")).to_contain_text("3.50")
    expect(page.locator(".mix-names")).to_have_text(mix)
    assert shown(page, "weighted") == before
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page).to_have_url(re.compile(r"osteoporosis[^&]*$"))


def test_a_link_can_be_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    search(page, "rice")
    weight(page, "rice").fill("2")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copy link").click()
    expect(notice(page)).to_contain_text("Copied a link to this search")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert "weight=rice%3A2" in page.url


def test_a_new_query_forgets_the_weights_of_the_last_one(page: Page) -> None:
    page.goto("/?q=rice&weight=rice:3&shown=20")
    expect(word(page, "rice")).to_contain_text("3.00")
    page.get_by_role("searchbox", name="Query").fill("rice water")
    page.keyboard.press("Enter")
    expect(word(page, "water")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/\?q=rice\+water$"))
    expect(word(page, "rice")).not_to_contain_text("3.00")


@pytest.mark.parametrize(
    "address",
    ["weight=rice:-1", "weight=rice:x", "weight=:3", "mix=1", "mix=-1,2", "shown=-4", "weights=%00", "view=x"],
)
def test_an_address_that_somebody_broke_is_read_as_far_as_it_goes(page: Page, address: str) -> None:
    page.goto(f"/?q=rice&{address}")
    expect(page.locator("#weighted .card").first).to_have_attribute("data-id", "rice")


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
                "notes": [],
                "query_read": None,
                "stale": False,
            }
        ),
    )
    page.goto("/?q=x")
    expect(page.locator("#told")).to_have_text("No documents found.")
    for rest in ("#columns", "#changes-line", "#more-line"):
        expect(page.locator(rest)).to_be_hidden()


def test_a_filter_that_no_document_passes_is_named(page: Page) -> None:
    page.goto("/?q=rice&where=topic+%3D+'nothing'")
    expect(page.locator("#told p").last).to_have_text("No document passes the filter.")
    expect(page.locator("#changes-line")).to_be_hidden()


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
