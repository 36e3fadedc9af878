"""The title, the text and the front matter of a Markdown file."""

import re
from typing import Any

import yaml

from chamfer.data.plain import plain
from chamfer.data.readers.parts import Parts
from chamfer.errors import InputError, first_line

FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
FENCE = re.compile(r" {0,3}(```+|~~~+)")


def markdown_parts(text: str, where: str) -> Parts:
    r"""The title is that of the front matter, or else the first heading; a heading at the very top is not repeated.

    >>> markdown_parts("---\ntags: [pets]\n---\n# Cats\n\nThey sleep.", "cats.md")
    Parts(title='Cats', text='They sleep.', metadata={'tags': ['pets']})
    """
    metadata, body = _front_matter(text, where)
    title, rest = _heading(body)
    own = metadata.pop("title", None)
    if isinstance(own, str | int | float) and str(own).strip() and not isinstance(own, bool):
        same = str(own).strip() == title
        return Parts(str(own).strip(), rest if same else body.strip(), metadata)
    return Parts(title, rest, metadata)


def _heading(body: str) -> tuple[str, str]:
    """The first heading, and the text, without the heading if nothing but blank lines is before it."""
    lines = body.splitlines()
    fence = ""
    for place, line in enumerate(lines):
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


def _front_matter(text: str, where: str) -> tuple[dict[str, Any], str]:
    """Front matter in YAML as metadata, and the rest; text between rules that is no front matter stays text."""
    found = FRONT_MATTER.match(text)
    if found is None:
        return {}, text
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(found[1], yaml.SafeLoader)):
            return {}, text  # a few lines of aliases can stand for gigabytes
        value = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if re.search(r"^\w+:", found[1], re.MULTILINE) is None:
            return {}, text
        raise InputError(f"{where}: front matter that is not YAML ({first_line(error)}); correct it") from error
    if not isinstance(value, dict):
        return {}, text
    metadata = {name: part for name, part in plain(value).items() if part is not None}
    return metadata, text[found.end() :]
