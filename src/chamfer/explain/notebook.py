"""An explanation for a notebook or a browser."""

from html import escape
from typing import TYPE_CHECKING

from chamfer.support.notebook import Row, marked, table

if TYPE_CHECKING:
    from chamfer.explain.explanation import Explanation

PAGE = """<!doctype html>
<html lang="en" style="color-scheme:light dark"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<body style="font:16px/1.5 system-ui,sans-serif;max-width:48em;margin:2em auto;padding:0 1em">
<h1 style="font-size:1.4em">{title}</h1>
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
    shown_in = [match for match in explanation.matches if match.span is not None and not match.special]
    heaviest = max((match.strength(explanation.form) for match in shown_in), default=0.0) or 1.0
    marks = [(*match.span, match.strength(explanation.form) / heaviest) for match in shown_in if match.span is not None]
    return f'{shown}<p style="white-space:pre-wrap">{marked(explanation.document, marks)}</p>'


def differences_as_html(above: "Explanation", below: "Explanation") -> str:
    """Why one document is above another, word by word."""
    rows: list[Row] = [(one.text, one.one, one.other, f"{one.gain:+.4f}") for one in above.against(below)]
    gap = above.score - below.score
    caption = f"why {above.document_id or 'this document'} is above {below.document_id or 'the other'}, by {gap:.4f}"
    names = [above.document_id or "above", below.document_id or "below"]
    return table(["query word", *names, "difference"], rows, caption=caption)


def page(title: str, parts: list[str]) -> str:
    """A document of its own that shows some pieces of HTML."""
    body = "\n".join(f'<div style="overflow-x:auto;margin-bottom:2em">{part}</div>' for part in parts)
    return PAGE.format(title=escape(title), body=body)
