"""Examples in README and docs run, and print what they say they print."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", re.DOTALL)
EXAMPLES = [
    (str(page.relative_to(ROOT)), code, printed)
    for page in PAGES
    for code, printed in EXAMPLE.findall(page.read_text())
]


@pytest.mark.parametrize(("page", "code", "printed"), EXAMPLES, ids=[page for page, _, _ in EXAMPLES])
def test_an_example_prints_what_it_says(page: str, code: str, printed: str) -> None:
    shown = StringIO()
    with redirect_stdout(shown):
        exec(compile(code, page, "exec"), {})
    assert shown.getvalue() == printed


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize(
    "page", sorted({*PAGES, *ROOT.glob("[A-Z]*.md")}), ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
