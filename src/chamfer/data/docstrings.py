"""A judged collection that every machine has: docstrings of Python's standard library.

The first sentence of a docstring is a query, and the rest is its one relevant document.
"""

import ast
import re
import sys
import sysconfig
from collections.abc import Container, Iterator
from pathlib import Path

from chamfer.data.collection import Collection

SHORTEST_QUERY, SHORTEST_DOCUMENT = 4, 12
"""Minimum length in words; shorter texts say too little."""


def docstring_collection(most: int | None = None, *, without: Container[str] = ()) -> Collection:
    """Read the source files of the installed standard library, without importing or running them.

    Args:
        most: maximum number of documents, spread evenly over the library.
        without: modules and packages that are left out.
    """
    found: dict[str, tuple[str, str]] = {}
    seen: set[str] = set()
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        module = _module_name(path.relative_to(library))
        if module is None or module.partition(".")[0] in without:
            continue
        for name, docstring in _docstrings(path, module):
            query, document = split_docstring(docstring)
            # Two documents with the same text would both be relevant, but only one is judged so.
            if query and query not in seen and document not in seen:
                seen.update((query, document))
                found.setdefault(name, (query, document))
    if most is not None and len(found) > most:
        names = list(found)
        found = {name: found[name] for name in names[:: -(-len(names) // most)]}
    return Collection(
        name="stdlib-docstrings",
        documents={name: document for name, (_, document) in found.items()},
        queries={f"q:{name}": query for name, (query, _) in found.items()},
        judgements={"test": {f"q:{name}": {name: 1} for name in found}},
    )


def split_docstring(docstring: str) -> tuple[str, str]:
    """Split a docstring into its first sentence and the rest. Both are empty if either is too short.

    >>> text = "Return a sorted copy of the list. Equal items keep the order that they had. "
    >>> split_docstring(text)
    ('', '')
    >>> split_docstring(text + "A key decides what is compared.")[0]
    'Return a sorted copy of the list.'
    """
    query, _, document = re.sub(r"\s+", " ", docstring).strip().partition(". ")
    if len(query.split()) < SHORTEST_QUERY or len(document.split()) < SHORTEST_DOCUMENT:
        return "", ""
    return f"{query}.", document


def _module_name(path: Path) -> str | None:
    """The dotted name of a public module at a path in the library, or None for private ones, tests and tools."""
    parts = path.with_suffix("").parts
    if parts[0] not in sys.stdlib_module_names or any(part in ("test", "tests", "idlelib") for part in parts):
        return None
    public = [part for part in parts if part != "__init__"]
    return None if any(part.startswith("_") for part in public) else ".".join(public)


def _docstrings(path: Path, module: str) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return  # some files are broken on purpose, for the library's own tests
    pending: list[tuple[str, ast.AST]] = [(module, tree)]
    while pending:
        name, node = pending.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield name, docstring
            inner = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            public = (child for child in node.body if isinstance(child, inner) and not child.name.startswith("_"))
            pending += [(f"{name}.{child.name}", child) for child in public]
