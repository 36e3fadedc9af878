"""Filters: fields of the index with their values and counts, ranges, and expressions."""

import re
from urllib.parse import urlencode

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Server
from tests.browser.corpus import DOCUMENTS
from tests.browser.looking import QUERY, notice, search, shown
from tests.browser.test_looks import check_accessible


def open_panel(page: Page) -> None:
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.locator("#facets")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#facets fieldset").first).to_be_visible()


def found(server: Server, where: str) -> list[str]:
    return [hit["id"] for hit in server.ask("POST", "/search", {"query": QUERY, "k": 10, "where": where})["hits"]]


def test_the_panel_lists_fields_with_values_and_counts(page: Page) -> None:
    search(page)
    open_panel(page)
    topics = [str(document.metadata["topic"]) for document in DOCUMENTS]
    rows = page.get_by_role("group", name=re.compile("^topic")).locator("label").all_inner_texts()
    counted = {name: int(count) for name, count in (row.split("\n") for row in rows)}
    assert counted == {name: topics.count(name) for name in set(topics)}
    assert list(counted.values()) == sorted(counted.values(), reverse=True)


def test_ticked_values_filter_both_rankings(page: Page, server: Server) -> None:
    search(page)
    open_panel(page)
    with page.expect_response("**/explain"):
        page.get_by_role("checkbox", name=re.compile("^kitchen")).check()
    with page.expect_response("**/explain"):
        page.get_by_role("checkbox", name=re.compile("^garden")).check()
    expect(page.get_by_role("button", name="remove the filter topic in ('kitchen', 'garden')")).to_be_visible()
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == found(server, "topic in ('kitchen', 'garden')")
    expect(page).to_have_url(re.compile("where=topic"))
    page.reload()
    expect(page.locator("#weighted .card").first).to_be_visible()
    assert shown(page, "weighted") == found(server, "topic in ('kitchen', 'garden')")
    open_panel(page)
    expect(page.get_by_role("checkbox", name=re.compile("^garden"))).to_be_checked()
    expect(page.get_by_role("checkbox", name=re.compile("^sky"))).not_to_be_checked()


def test_a_range_of_numbers(page: Page, server: Server) -> None:
    search(page)
    open_panel(page)
    page.get_by_role("spinbutton", name="year: at least").fill("2000")
    page.get_by_role("spinbutton", name="year: at most").fill("2012")
    with page.expect_response("**/explain"):
        page.get_by_role("group", name=re.compile("^year")).get_by_role("button", name="Apply").click()
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == found(server, "year >= 2000 and year <= 2012")


def test_a_second_range_replaces_the_first_and_an_empty_one_removes_it(page: Page, server: Server) -> None:
    search(page)
    chips = page.locator("#filter-chips")
    for lowest, highest, expected in (
        ("2000", "2012", "year >= 2000 and year <= 2012"),
        ("", "1999", "year <= 1999"),
        ("1995", "", "year >= 1995"),
    ):
        open_panel(page)
        page.get_by_role("spinbutton", name="year: at least").fill(lowest)
        page.get_by_role("spinbutton", name="year: at most").fill(highest)
        with page.expect_response("**/explain"):
            page.get_by_role("group", name=re.compile("^year")).get_by_role("button", name="Apply").click()
        expect(chips.get_by_role("button")).to_have_count(1)
        expect(chips.locator("code")).to_have_text(expected)
        expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
        assert shown(page, "weighted") == found(server, expected)
    open_panel(page)
    expect(page.get_by_role("spinbutton", name="year: at least")).to_have_value("1995")
    page.get_by_role("spinbutton", name="year: at least").fill("")
    with page.expect_response("**/explain"):
        page.get_by_role("group", name=re.compile("^year")).get_by_role("button", name="Apply").click()
    expect(chips.get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize(
    "typed",
    [
        "topic = 'health' or year > 2000",
        "topic in ('health', 'sky') and year > 2000",
        "topic = 'health' and not year = 1",
    ],
)
def test_a_tick_leaves_a_typed_filter_alone(page: Page, typed: str) -> None:
    page.goto(f"/?{urlencode({'q': QUERY, 'where': typed})}")
    expect(page.locator("#weighted .card").first).to_be_visible()
    open_panel(page)
    expect(page.get_by_role("checkbox", name=re.compile("^health"))).not_to_be_checked()
    with page.expect_response("**/explain"):
        page.get_by_role("checkbox", name=re.compile("^health")).check()
    expect(page.locator("#filter-chips code")).to_have_text([typed, "topic = 'health'"])
    with page.expect_response("**/explain"):
        page.get_by_role("checkbox", name=re.compile("^health")).uncheck()
    expect(page.locator("#filter-chips code")).to_have_text([typed])


def test_the_last_day_of_a_range_is_in_it_with_its_times(page: Page) -> None:
    field = {
        "name": "day",
        "kind": "date",
        "documents": 59,
        "several": False,
        "distinct": 20,
        "exact": True,
        "values": [],
        "lowest": "2020-01-01",
        "highest": "2024-12-31T09:30:00Z",
    }

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "fields": [field]})

    page.route("**/index", answer)
    search(page)
    open_panel(page)
    page.get_by_label("day: at least").fill("2024-01-01")
    page.get_by_label("day: at most").fill("2024-12-31")
    page.get_by_role("group", name=re.compile("^day")).get_by_role("button", name="Apply").click()
    chips = page.locator("#filter-chips code")
    expect(chips).to_have_text(["day >= '2024-01-01' and day < '2025-01-01'"])
    open_panel(page)
    expect(page.get_by_label("day: at most")).to_have_value("2024-12-31")
    page.get_by_label("day: at least").fill("")
    page.get_by_label("day: at most").fill("2024-02-28")
    page.get_by_role("group", name=re.compile("^day")).get_by_role("button", name="Apply").click()
    expect(chips).to_have_text(["day < '2024-02-29'"])


def test_filters_add_up_and_are_removed_by_a_click(page: Page, server: Server) -> None:
    page.goto(f"/?q={QUERY.replace(' ', '+')}&where=topic+%3D+'health'&where=year+>+2000")
    expect(page.locator("#weighted .card").first).to_be_visible()
    assert shown(page, "weighted") == found(server, "topic = 'health' and year > 2000")
    with page.expect_response("**/explain"):
        page.get_by_role("button", name="remove the filter year > 2000").click()
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == found(server, "topic = 'health'")


def test_a_typed_expression_and_its_mistakes(page: Page, server: Server, watch: object) -> None:
    watch.failures_expected = True  # type: ignore[attr-defined]
    search(page)
    open_panel(page)
    box = page.get_by_role("textbox", name="Or as an expression")
    box.fill("year >= 2010 or topic = 'sky'")
    with page.expect_response("**/explain"):
        box.press("Enter")
    expect(page.locator("#view-search")).to_have_attribute("aria-busy", "false")
    assert shown(page, "weighted") == found(server, "year >= 2010 or topic = 'sky'")
    open_panel(page)
    box.fill("year >>> 3")
    with page.expect_response("**/explain"):
        box.press("Enter")
    expect(notice(page)).to_contain_text("filter")
    page.get_by_role("button", name="remove the filter year >>> 3").click()
    expect(page.locator("#weighted .card").first).to_be_visible()


def test_the_panel_closes_with_escape_and_can_be_used_with_keys(page: Page) -> None:
    search(page)
    page.get_by_role("button", name="Filter", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#facets fieldset").first).to_be_visible()
    box = page.get_by_role("checkbox", name=re.compile("^sky"))
    box.focus()
    with page.expect_response("**/explain"):
        page.keyboard.press("Space")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#filter-panel")).to_be_hidden()
    expect(page.get_by_role("button", name="Filter", exact=True)).to_be_focused()


@pytest.mark.parametrize(
    "page",
    [
        {"reduced_motion": "reduce"},
        {"reduced_motion": "reduce", "color_scheme": "dark", "viewport": {"width": 320, "height": 640}},
    ],
    indirect=True,
)
def test_axe_finds_nothing_in_the_panel(page: Page) -> None:
    page.goto("/?q=rice&where=topic+%3D+'kitchen'")
    open_panel(page)
    check_accessible(page)


def test_example_queries_come_from_the_index(page: Page, server: Server) -> None:
    examples = server.ask("GET", "/index")["example_queries"]
    assert examples
    page.goto("/")
    links = page.get_by_role("region", name="Try one of these").get_by_role("link")
    expect(links).to_have_text(examples)
    links.first.click()
    expect(page.get_by_role("searchbox", name="Query")).to_have_value(examples[0])
    expect(page.locator("#weighted .card").first).to_be_visible()
