"""What a reader must know of an answer stands above the results."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Server, Watch
from tests.browser.looking import search


def changed(**fields: Any) -> Callable[[Route], None]:
    """The server's answer with other fields."""

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), **fields})

    return answer


def test_missing_shards_are_told_above_the_results(page: Page) -> None:
    page.route("**/explain", changed(partial=True, missing_shards=["part-2", "part-5"]))
    search(page, "rice")
    told = page.locator("#told")
    expect(told).to_have_text("Results are incomplete: no answer from part-2, part-5.")
    above, first = told.bounding_box(), page.locator("#weighted .card").first.bounding_box()
    assert above is not None
    assert first is not None
    assert above["y"] + above["height"] <= first["y"]


def test_a_query_that_was_cut_says_where(page: Page) -> None:
    page.goto("/?q=" + "+".join(f"osteoporosis{n}" for n in range(200)))
    told = page.locator("#told p").first
    expect(told).to_have_text(
        re.compile(r"^The query is too long for the model; it ignored “\S+ osteoporosis\d+ .*…”\.$")
    )


def test_nonsense_is_told_to_find_probably_nothing(page: Page, server: Server) -> None:
    asked = {"query": "asdf qwer", "k": 20}
    deadline = time.monotonic() + 60
    # The first questions begin the estimate of what unrelated texts score, and do not wait for it.
    while server.ask("POST", "/explain", asked)["probably_nothing"] is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    told = page.locator("#told")
    search(page, "asdf qwer")
    expect(told).to_have_text("Probably nothing here: no document scores higher than unrelated text does.")
    with page.expect_response("**/explain"):
        page.get_by_role("button", name="Load more").click()
    expect(page.locator("#weighted .card:visible")).to_have_count(20)
    expect(told).to_contain_text("Probably nothing here")
    search(page)
    expect(told).to_be_empty()


def test_a_server_that_does_not_know_yet_is_asked_once_more(page: Page, watch: Watch) -> None:
    page.route("**/explain", changed(probably_nothing=None), times=1)
    search(page, "asdf qwer")
    expect(page.locator("#told")).to_be_empty()
    expect(page.locator("#told")).to_have_text(
        "Probably nothing here: no document scores higher than unrelated text does."
    )
    assert sum(url.endswith("/explain") for url in watch.requests) == 2


def test_a_server_that_never_knows_is_not_asked_again(page: Page, watch: Watch) -> None:
    page.route("**/explain", changed(probably_nothing=None))
    with page.expect_response(lambda answer: (answer.request.post_data_json or {}).get("k") == 1):
        search(page, "asdf qwer")
    page.get_by_role("searchbox", name="Query").fill("qwer asdf")
    page.keyboard.press("Enter")
    page.wait_for_timeout(3500)
    assert sum(url.endswith("/explain") for url in watch.requests) == 3


def test_notes_of_the_server_are_told(page: Page) -> None:
    page.route("**/explain", changed(notes=["no document has the field 'colour'"]))
    search(page, "rice")
    expect(page.locator("#told")).to_have_text("No document has the field 'colour'.")


def test_an_index_that_is_gone_is_told_with_the_results_that_are_left(page: Page) -> None:
    gone = "the folder of the index is gone, so changes are not seen"
    page.route("**/explain", changed(notes=[gone], stale=True))
    search(page, "rice")
    expect(page.locator("#told .wrong")).to_have_text("The folder of the index is gone, so changes are not seen.")


def test_a_script_that_the_model_cannot_read_is_told(page: Page) -> None:
    search(page, "日本語で検索する")
    expect(page.locator("#told")).to_contain_text("model")
