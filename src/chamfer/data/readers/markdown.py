"""The title and the text of a Markdown file."""

import re

from chamfer.data.readers.front_matter import front_matter
from chamfer.data.readers.parts import Parts

HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
COMMENT = re.compile(r" {0,3}<!--")


def markdown_parts(text: str, where: str) -> Parts:
    r"""The title is that of the front matter, or else the first heading; a heading at the very top is not repeated.

    >>> markdown_parts("---\ntags: [pets]\n---\n# Cats\n\nThey sleep.", "cats.md")
    Parts(title='Cats', text='They sleep.', metadata={'tags': ['pets']})
    """
    before = front_matter(text, where)
    body = text[before.end :] if before.read else text
    title, rest = _heading(body, skipped=0 if before.read else text.count("\n", 0, before.end))
    if before.title:
        return Parts(before.title, rest if before.title == title else body.strip(), before.metadata)
    return Parts(title, rest, before.metadata)


def _heading(body: str, *, skipped: int) -> tuple[str, str]:
    """The first heading, and the text, without the heading if nothing but blank lines is before it.

    Args:
        body: the text.
        skipped: lines at the beginning in which there is no heading.
    """
    lines = body.splitlines()
    fence = ""
    comment = False
    for place, line in enumerate(lines):
        if place < skipped:
            continue
        if comment or (not fence and COMMENT.match(line)):
            comment = "-->" not in line
            continue
        marks = FENCE.match(line)
        if marks is not None:
            fence = "" if fence and marks[1].startswith(fence) else fence or marks[1]
        if fence or marks is not None:
            continue
        below = lines[place + 1] if place + 1 < len(lines) else ""
        heading = HEADING.match(line)
        underlined = heading is None and UNDERLINE.match(below) and re.match(r" {0,3}[^\s>#|*+-]", line)
        if heading is None and not underlined:
            continue
        first = not any(before.strip() for before in lines[:place])
        rest = lines[place + (2 if underlined else 1) :] if first else lines
        return (heading[1] if heading else line).strip(), "\n".join(rest).strip()
    return "", body.strip()
