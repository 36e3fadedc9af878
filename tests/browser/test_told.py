"""What a reader must know of an answer stands above the results."""

import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, Route, expect

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
    told = page.locator("#told")
    expect(told).to_have_text(
        re.compile(r"^The query is longer than the model reads. It did not read “\S+ osteoporosis\d+ .*…”\.$")
    )


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
