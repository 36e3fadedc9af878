"""Griffe extension: the ``>>>`` examples of docstrings become code blocks, wherever in the docstring they stand."""

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Fences every example; Griffe itself knows them only under the heading ``Examples:``."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 -- as Griffe calls it
        """Rewrite one docstring before it is parsed."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """A docstring whose examples stand between fences."""
    lines: list[str] = []
    indent = None
    for line in [*docstring.splitlines(), ""]:
        if indent is None and line.lstrip().startswith(">>> "):
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f"{indent}```pycon")
        elif indent is not None and not line.strip():
            lines.append(f"{indent}```")
            indent = None
        lines.append(line)
    return "\n".join(lines[:-1])
