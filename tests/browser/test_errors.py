import json
from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Watch
from tests.browser.looking import notice, search


def refuse(times: int, status: int, message: str | None, **headers: str) -> Callable[[Route], None]:
    """Answer the first ``times`` requests with an error, and let the server answer the rest."""
    left = [times]

    def answer(route: Route) -> None:
        left[0] -= 1
        if left[0] < 0:
            route.continue_()
        else:
            body = "<h1>Bad gateway</h1>" if message is None else json.dumps({"message": message})
            route.fulfill(
                status=status, body=body, headers={name.replace("_", "-"): text for name, text in headers.items()}
            )

    return answer


def asks(watch: Watch) -> int:
    return sum(url.endswith("/explain") for url in watch.requests)


def test_a_busy_server_is_asked_once_more_after_a_while(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    page.route("**/explain", refuse(1, 429, "too many requests wait", Retry_After="1"))
    page.goto("/?q=rice")
    expect(notice(page)).to_have_text("The server is busy; retrying in 1 second.")
    expect(page.locator("#weighted .card").first).to_be_visible()
    expect(notice(page)).to_be_empty()
    assert asks(watch) == 2


def test_a_server_that_stays_busy_is_reported(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    page.route("**/explain", refuse(9, 429, "too many requests wait", Retry_After="1"))
    page.goto("/?q=rice")
    expect(notice(page)).to_have_text("The server is too busy; try again in 1 second.")
    assert asks(watch) == 2


def test_a_long_wait_is_reported_at_once(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    page.route("**/explain", refuse(1, 429, "too many requests wait", Retry_After="90"))
    page.goto("/?q=rice")
    expect(notice(page)).to_have_text("The server is too busy; try again in 90 seconds.")
    assert asks(watch) == 1


def test_what_the_server_says_is_shown_as_a_sentence_and_the_next_success_ends_it(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    page.route("**/explain", refuse(1, 500, "something went wrong in the <b>server</b>"))
    page.goto("/?q=rice")
    expect(notice(page)).to_have_text("Something went wrong in the <b>server</b>.")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#weighted .card").first).to_be_visible()
    expect(notice(page)).to_be_empty()


def test_an_error_without_a_message_is_reported_by_its_status(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    page.route("**/explain", refuse(1, 502, None))
    page.goto("/?q=rice")
    expect(notice(page)).to_have_text("The server failed with status 502 and gave no reason.")


def test_a_server_that_is_gone_is_reported_and_old_results_are_removed(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    search(page, "rice")
    page.route("**/explain", lambda route: route.abort("connectionrefused"))
    page.get_by_role("searchbox", name="Query").fill("moon")
    page.keyboard.press("Enter")
    expect(notice(page)).to_have_text("Cannot reach the server; check that it is running and try again.")
    expect(page.locator("#answer")).to_be_hidden()
    page.unroute("**/explain")
    page.keyboard.press("Enter")
    expect(page.locator("#weighted .card").first).to_be_visible()


def test_an_error_stays_while_other_requests_succeed(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    search(page, "rice")
    page.route("**/weights/use", refuse(1, 400, "there is no version 9 of the weights"))
    page.get_by_role("link", name="Weights", exact=True).click()
    page.get_by_role("button", name="IDF", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(notice(page)).to_contain_text("is now in use")
    page.get_by_role("button", name="Use version").first.click()
    expect(notice(page)).to_have_text("There is no version 9 of the weights.")
    page.get_by_label("Find a word").fill("rice")
    expect(page.locator(".token-table tbody tr").first).to_contain_text("rice")
    expect(notice(page)).to_have_text("There is no version 9 of the weights.")


def test_the_key_is_requested_stored_for_the_tab_and_sent(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    sent: list[str | None] = []

    def guard(route: Route) -> None:
        sent.append(route.request.headers.get("authorization"))
        if sent[-1] == "Bearer right":
            route.continue_()
        else:
            route.fulfill(status=401, json={"message": "an API key is required"})

    page.route("**/explain", guard)
    page.goto("/?q=rice")
    asked = page.get_by_role("dialog", name="API key required")
    asked.get_by_label("API key").fill("wrong")
    page.keyboard.press("Enter")
    expect(asked).to_be_visible()
    asked.get_by_label("API key").fill("right")
    asked.get_by_role("button", name="Continue").click()
    expect(page.locator("#weighted .card").first).to_be_visible()
    assert sent == [None, "Bearer wrong", "Bearer right"]
    page.reload()
    expect(page.locator("#weighted .card").first).to_be_visible()
    assert sent[-1] == "Bearer right"
    assert page.evaluate("JSON.stringify(localStorage)") == "{}"


def test_cancelling_the_key_dialog_reports_that_a_key_is_required(page: Page, watch: Watch) -> None:
    watch.failures_expected = True
    page.route("**/explain", refuse(1, 401, "an API key is required"))
    page.goto("/?q=rice")
    expect(page.get_by_role("dialog", name="API key required")).to_be_visible()
    page.keyboard.press("Escape")
    expect(notice(page)).to_have_text("This server requires an API key.")
