"""The report of an evaluation: one HTML file, drawn by the modules that draw it on the page of a server."""

import base64
import hashlib
import html
import json
from functools import cache
from typing import Any

from chamfer.evaluate.page import page_file
from chamfer.support.inlining import inlined

EXPLAINED = 10
"""Worst losses, and best wins, of each system that are explained unless another number is given."""

STYLES = ("style.css", "evaluate.css", "report.css")
SCRIPT = "report.js"

DATA = "@@evaluation@@"
"""Stands for the data in :func:`report_page`; the page of a server puts them there, too."""

# Nothing from outside is loaded, and of what is inside, only these styles and this script have any effect.
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>chamfer evaluation</title>
<link rel="icon" href="{icon}">
<style>{style}</style>
</head>
<body>
<main id="report"><noscript><p>This report needs JavaScript.</p></noscript></main>
<script type="application/json" id="evaluation">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def report_on(evaluation: dict[str, Any]) -> str:
    """Return the report of an evaluation as HTML.

    Args:
        evaluation: what :meth:`chamfer.Evaluation.as_json` returns.
    """
    systems = [{name: value for name, value in one.items() if name != "made"} for one in evaluation["systems"]]
    written = json.dumps({**evaluation, "systems": systems}, ensure_ascii=False, separators=(",", ":"))
    return report_page().replace(DATA, written.replace("<", "\\u003c"))  # no text can end the element


@cache
def report_page() -> str:
    """Return the report without its data, for which :data:`DATA` stands."""
    style = "\n".join(map(page_file, STYLES))
    script = inlined(SCRIPT, page_file)
    icon = "data:image/svg+xml;base64," + base64.b64encode(page_file("favicon.svg").encode()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return PAGE.format(policy=html.escape(policy), icon=icon, style=style, script=script, data=DATA)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
