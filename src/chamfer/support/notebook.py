"""HTML for notebooks: escaped, with colours that suit light and dark themes."""

from collections.abc import Iterable, Sequence
from html import escape

Row = Sequence[str | float]

CELL = "padding:.15em .8em .15em 0;text-align:{side};vertical-align:top;white-space:pre-wrap"


def table(head: Sequence[str], rows: Iterable[Row], *, caption: str = "") -> str:
    """A table of strings and numbers; numbers are right-aligned, and floats have four decimals.

    >>> table(["id", "score"], [["<a>", -0.5]]).count("&lt;a&gt;")
    1
    """
    body = [list(row) for row in rows]
    numeric = [bool(body) and all(not isinstance(row[column], str) for row in body) for column in range(len(head))]
    lines = [_line("th", head, numeric), *(_line("td", row, numeric) for row in body)]
    above = f'<caption style="text-align:left;padding-bottom:.4em">{escape(caption)}</caption>' if caption else ""
    return f'<table style="border-collapse:collapse">{above}{"".join(lines)}</table>'


def marked(text: str, marks: Iterable[tuple[int, int, float]]) -> str:
    """A text with highlighted spans; a strength of 1 is the strongest colour, and the strongest span wins an overlap.

    >>> marked("a cat", [(2, 5, 1.0)])
    'a <mark style="background:rgba(245,158,11,0.60);color:inherit">cat</mark>'
    """
    strength = [0.0] * len(text)
    for start, stop, value in marks:
        for place in range(start, min(stop, len(text))):
            strength[place] = max(strength[place], value)
    parts, start = [], 0
    for place in range(1, len(text) + 1):
        if place == len(text) or strength[place] != strength[start]:
            parts.append(_coloured(text[start:place], strength[start]))
            start = place
    return "".join(parts)


def _coloured(text: str, strength: float) -> str:
    if strength <= 0:
        return escape(text)
    return f'<mark style="background:rgba(245,158,11,{0.6 * strength:.2f});color:inherit">{escape(text)}</mark>'


def _line(tag: str, cells: Row, numeric: Sequence[bool]) -> str:
    shown = [
        f'<{tag} style="{CELL.format(side="right" if right else "left")}">{escape(_text(cell))}</{tag}>'
        for cell, right in zip(cells, numeric, strict=True)
    ]
    return f"<tr>{''.join(shown)}</tr>"


def _text(cell: str | float) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else f"{cell:.4f}"
