"""Screenshots of the page of ``chamfer serve`` for the README: light, dark, and on a phone.

Without an index, one is built from the docstrings of the standard library, which takes a minute.

    python benchmarks/screenshots.py                    # writes docs/images/page-*.png
    python benchmarks/screenshots.py my-index/ --query "what helps against osteoporosis"
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from chamfer import Encoder, build_index
from chamfer.data.docstrings import docstring_collection

DOCS = Path(__file__).parents[1] / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST_BYTES = 300_000
"""Size limit of a picture, to keep the repository small."""


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", nargs="?", type=Path, help="index folder")
    parser.add_argument("--query", default="count how often each word occurs")
    parser.add_argument("--word", default="count", help="word to drag to a higher weight")
    parser.add_argument("--max-documents", type=int, default=2000, help="docstrings to index, if no index is given")
    parser.add_argument("--out", type=Path, default=DOCS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = asked.index or _build(Path(folder) / "index", asked.max_documents)
        with _serve(index, Path(folder) / "log") as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            for scheme in SCHEMES:
                _wide(browser, address, asked.query, asked.word, scheme, asked.out)
            _phone(browser, address, asked.query, asked.word, asked.out)
            browser.close()


def _wide(browser: Browser, address: str, query: str, word: str, scheme: Literal["light", "dark"], out: Path) -> None:
    page = browser.new_page(
        base_url=address, color_scheme=scheme, viewport={"width": 1280, "height": 760}, device_scale_factor=1.2
    )
    _search(page, query)
    _drag(page, word)
    if scheme == "light":
        page.locator("#weighted .ask").first.click()  # says which words put it above the next one
        page.mouse.move(0, 0)
    else:
        page.get_by_role("slider", name=f"weight of {word}", exact=True).hover()  # lights up what it matched
    _write(page, out / f"page-{scheme}.png")


def _phone(browser: Browser, address: str, query: str, word: str, out: Path) -> None:
    page = browser.new_page(
        base_url=address, viewport={"width": 390, "height": 844}, device_scale_factor=2, is_mobile=True, has_touch=True
    )
    _search(page, query)
    _drag(page, word)
    _write(page, out / "page-phone.png")


def _search(page: Page, query: str) -> None:
    page.goto("/")
    page.get_by_role("searchbox", name="Query").fill(query)
    page.keyboard.press("Enter")
    page.locator("#weighted .card").first.wait_for()
    page.evaluate("document.activeElement.blur()")


def _drag(page: Page, word: str) -> None:
    """Give a word nearly three times its weight."""
    box = page.get_by_role("slider", name=f"weight of {word}", exact=True).bounding_box()
    if box is None:
        raise SystemExit(f"the query has no word {word!r}")
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 10, steps=10)
    page.mouse.up()
    page.mouse.move(0, 0)


def _write(page: Page, path: Path) -> None:
    page.wait_for_timeout(500)  # until animations have ended
    page.screenshot(path=path)
    size = path.stat().st_size
    print(f"{path}: {size / 1000:.0f} KB")
    if size > MOST_BYTES:
        raise SystemExit(f"{path} is larger than {MOST_BYTES / 1000:.0f} KB; make the picture smaller")
    page.close()


def _build(folder: Path, max_documents: int) -> Path:
    collection = docstring_collection(max_documents)
    print(f"indexing {len(collection.documents)} docstrings")
    build_index(folder, collection.documents, Encoder.load("minilm", document_length=128))
    return folder


@contextmanager
def _serve(index: Path, log: Path) -> Iterator[str]:
    command = [str(Path(sys.executable).with_name("chamfer")), "serve", str(index), "--port", "0"]
    with log.open("w") as written, subprocess.Popen(command, stdout=written, stderr=written) as process:
        try:
            while process.poll() is None:
                found = [word for word in log.read_text().split() if word.startswith("http://")]
                if found:
                    yield found[0]
                    return
                time.sleep(0.1)
            raise SystemExit(f"the server did not start: {log.read_text()}")
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
