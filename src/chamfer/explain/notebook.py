"""Explanations as HTML: a comparison of two documents, and a standalone page."""

from html import escape

from chamfer.explain.explanation import Explanation
from chamfer.support.notebook import Row, table

PAGE = """<!doctype html>
<html lang="en" style="color-scheme:light dark"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<body style="font:16px/1.5 system-ui,sans-serif;max-width:48em;margin:2em auto;padding:0 1em">
<h1 style="font-size:1.4em">{title}</h1>
{body}
</body></html>
"""


def differences_as_html(above: Explanation, below: Explanation) -> str:
    """A table of why one document ranks above another, word by word."""
    rows: list[Row] = [(one.shown, one.one, one.other, f"{one.gain:+.4f}") for one in above.against(below)]
    gap = above.score - below.score
    caption = f"why {above.document_id or 'this document'} ranks above {below.document_id or 'the other'}, by {gap:.4f}"
    names = [above.document_id or "above", below.document_id or "below"]
    return table(["query word", *names, "difference"], rows, caption=caption)


def page(title: str, parts: list[str]) -> str:
    """A complete HTML document around some pieces of HTML."""
    body = "\n".join(f'<div style="overflow-x:auto;margin-bottom:2em">{part}</div>' for part in parts)
    return PAGE.format(title=escape(title), body=body)
