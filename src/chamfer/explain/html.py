"""An explanation for a notebook or a browser."""

from html import escape
from typing import TYPE_CHECKING

from chamfer.html import Row, marked, table

if TYPE_CHECKING:
    from chamfer.explain.explanation import Explanation

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<body style="font:16px/1.5 system-ui,sans-serif;max-width:48em;margin:2em auto;padding:0 1em;color-scheme:light dark">
{body}
</body></html>
"""


def explanation_as_html(explanation: "Explanation") -> str:
    """The words of the query with what each matched and added, and the document with what was matched in colour."""
    rows: list[Row] = [
        (word.text, word.weight, word.matched, word.contribution, f"{word.share:.0%}") for word in explanation.words
    ]
    caption = f"score {explanation.score:.4f}, {explanation.special_share:.0%} of it by special tokens"
    if explanation.document_id:
        caption = f"{explanation.document_id}: {caption}"
    head = ["query word", "weight", "matched", "contribution", "share"]
    shown = table(head, rows, caption=caption)
    if explanation.document is None:
        return shown
    heaviest = max((match.strength(explanation.form) for match in explanation.matches), default=0.0)
    marks = [
        (*match.span, match.strength(explanation.form) / heaviest)
        for match in explanation.matches
        if match.span is not None and not match.special and heaviest > 0
    ]
    return f'{shown}<p style="white-space:pre-wrap">{marked(explanation.document, marks)}</p>'


def page(title: str, parts: list[str]) -> str:
    """A document of its own that shows some pieces of HTML."""
    return PAGE.format(title=escape(title), body="\n".join(parts))
