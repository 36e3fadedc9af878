"""Griffe extension: docstrings as Markdown, whatever of reStructuredText they hold, and without internals."""

import inspect
import re
from typing import Any

import griffe

import chamfer

INTERNAL = "Internal:"
"""How the docstring of a member begins that other rooms of the package need, but users do not."""

ROLE = re.compile(r":(?:class|func|meth|attr|mod|data):`~?([\w.]+)`")


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 -- as Griffe calls it
        """Rewrite one docstring."""
        if obj.docstring:
            obj.docstring.value = linked(fenced(obj.docstring.value))

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:  # noqa: ANN401 -- as Griffe calls it
        """Leave out what is internal."""
        for name, member in list(cls.members.items()):
            if not member.is_alias and member.docstring and member.docstring.value.startswith(INTERNAL):
                del cls.members[name]


def fenced(docstring: str) -> str:
    """A docstring whose ``>>>`` examples are fenced; Griffe itself knows them only under the heading ``Examples:``."""
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


def linked(docstring: str) -> str:
    """A docstring whose cross-references are links if they are to public names, and code otherwise."""
    return ROLE.sub(lambda role: _link(role[1]), docstring)


def _link(target: str) -> str:
    package, _, name = target.partition(".")
    public, _, member = name.partition(".")
    if package != "chamfer" or public not in chamfer.__all__:
        return f"`{target}`"
    home = inspect.unwrap(getattr(chamfer, public)).__module__
    return f"[`{name}`][{'.'.join(filter(None, (home, public, member)))}]"
