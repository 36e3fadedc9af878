"""What a user sees on the page, as values."""

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import Locator, Page, expect

QUERY = "what helps against osteoporosis of the hip"


def search(page: Page, query: str = QUERY) -> None:
    """Open the page, search, and wait for the results."""
    page.goto("/")
    page.get_by_role("searchbox", name="Query").fill(query)
    page.keyboard.press("Enter")
    expect(page.locator("#weighted .card").first).to_be_visible()


def shown(page: Page, column: str) -> list[str]:
    """The ids in a column, best first."""
    return page.locator(f"#{column} .card:visible").evaluate_all("cards => cards.map(card => card.dataset.id)")  # type: ignore[no-any-return]


def number(text: str) -> float:
    """The first number in a text, which may have a minus sign instead of a hyphen."""
    return float(re.findall(r"[+-]?\d+\.?\d*", text.replace("\N{MINUS SIGN}", "-"))[0])


def scores(page: Page, column: str) -> list[float]:
    return [number(text) for text in page.locator(f"#{column} .card:visible .score").all_text_contents()]


def card(page: Page, column: str, identifier: str) -> Locator:
    return page.locator(f'#{column} .card[data-id="{identifier}"]')


def word(page: Page, name: str) -> Locator:
    """A word of the query, which is a slider of its weight."""
    return page.get_by_role("slider", name=f"weight of {name}", exact=True)


def weight(page: Page, name: str) -> Locator:
    """The box to type a weight into, of a word that is clicked for it."""
    box = page.get_by_role("spinbutton", name=f"weight of {name}, as a number", exact=True)
    if not box.is_visible():
        word(page, name).click()
    return box


def drag(page: Page, handle: Locator, across: float, *, steps: int = 5) -> None:
    """Drag something sideways by some pixels."""
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across, y, steps=steps)
    page.mouse.up()


def lit(page: Page, column: str, identifier: str) -> str:
    """The highlighted text of a result."""
    return "".join(card(page, column, identifier).locator("mark.lit").all_text_contents())


def notice(page: Page) -> Locator:
    return page.locator("#notice")


def mark_relevant(page: Page, column: str, identifier: str) -> None:
    card(page, column, identifier).get_by_role("button", name="relevant", exact=True).click()
