"""MkDocs hook: fill the reference pages from the code, so that they never go stale.

A page holds a line such as ``<!-- generated: command-line -->``, which is replaced when the site is built.
"""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints
from unittest.mock import MagicMock

import typer.main

import chamfer
from chamfer import InputError, errors
from docstrings import INTERNAL

# Public names are grouped by the room that they come from, in the order in which data flows.
GROUPS = {
    "data": "Documents and collections",
    "encode": "Encoding",
    "tokens": "Token vectors",
    "kernels": "Scoring",
    "weights": "Weights",
    "index": "Index",
    "search": "Searching and re-ranking",
    "explain": "Explanations",
    "evaluate": "Evaluation",
    "learn": "Learning",
    "client": "Asking a server",
    "errors": "Errors",
}


# Names in hints that modules import for type checkers only.
_NAMES = {"Encoder": chamfer.Encoder}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Replace the markers of a page by what the code says."""
    for name, generate in GENERATED.items():
        marker = f"<!-- generated: {name} -->"
        if marker in markdown:
            markdown = markdown.replace(marker, "\n".join(generate()))
    return markdown


def python_api() -> Iterator[str]:
    """Every public name, rendered by mkdocstrings from its docstring."""
    homes = {name: inspect.unwrap(getattr(chamfer, name)).__module__ for name in chamfer.__all__}
    unknown = {home.split(".")[1] for home in homes.values()} - set(GROUPS)
    if unknown:
        raise ValueError(f"docs/generated.py has no heading for the rooms {sorted(unknown)}; add them to GROUPS")
    for room, title in GROUPS.items():
        names = [name for name, home in homes.items() if home.split(".")[1] == room]
        if names:
            yield f"\n## {title}\n"
        for name in names:
            yield _rendered(getattr(chamfer, name))
    yield "The other classes of the public module `chamfer.errors` can be imported from there, to be caught:\n"
    yield from (_rendered(one) for one in vars(errors).values() if inspect.isclass(one) and one is not InputError)
    yield "\n## Types that you get, but do not import\n\nAttributes and results of the classes above.\n"
    yield from (_rendered(one) for one in types_you_get())


def _rendered(thing: Any) -> str:  # noqa: ANN401 -- a function or a class
    return f"::: {inspect.unwrap(thing).__module__}.{thing.__name__}\n    options:\n      heading_level: 3\n"


def types_you_get() -> list[type]:
    """Classes of chamfer that public names return or hold, without being public names themselves."""
    public = [getattr(chamfer, name) for name in chamfer.__all__]
    found: list[type] = []
    for thing in (waiting := list(public)):
        for one in classes_in(_results(thing)):
            if one not in public and one not in found:
                found.append(one)
                waiting.append(one)
    return found


def _results(thing: Any) -> list[Any]:  # noqa: ANN401 -- a function or a class
    """The types of what a function returns; of a class, those of its attributes and of what its methods return."""
    if not inspect.isclass(thing):
        # Of the return type only: parameters may have hints that only type checkers can resolve.
        result = SimpleNamespace(__annotations__={"return": thing.__annotations__["return"]})
        return [*get_type_hints(result, thing.__globals__, _NAMES).values()]
    found = list(get_type_hints(thing, localns=_NAMES).values())
    for name, member in vars(thing).items():
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        if inspect.isfunction(function) and not name.startswith("_") and not is_internal(function):
            found += _results(function)
    return found


def is_internal(function: Callable[..., object]) -> bool:
    """Whether a function is for other rooms of the package only."""
    return (function.__doc__ or "").startswith(INTERNAL)


def classes_in(hints: list[Any]) -> Iterator[type]:
    """Classes of chamfer in type hints, in unions and in containers too."""
    for hint in hints:
        if inspect.isclass(hint) and hint.__module__.startswith("chamfer."):
            yield hint
        yield from classes_in([one for one in get_args(hint) if not isinstance(one, str)])


def command_line() -> Iterator[str]:
    """Every command with its arguments and options."""
    yield from _command(typer.main.get_command(import_module("chamfer.cli.app").app), "chamfer", None)


def _command(command: Any, name: str, parent: Any) -> Iterator[str]:  # noqa: ANN401 -- of typer's private copy of click
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    yield f"\n## `{name}`\n\n    {usage}\n\n{_paragraphs(command.help or '')}\n"
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [f"| `{_cell(left)}` | {_cell(right)} |" for left, right in filter(None, records)]
    if rows:
        yield "\n".join(["| argument or option | meaning |", "| --- | --- |", *rows, ""])
    for child_name, child in getattr(command, "commands", {}).items():
        yield from _command(child, f"{name} {child_name}", context)


def _paragraphs(text: str) -> str:
    """Help text as Markdown, with its example as a code block."""
    lines = []
    for line in text.splitlines():
        label, colon, example = line.partition("Example: ")
        lines.append(f"{label}Example:\n\n    {example}\n" if colon else line)
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def http_api() -> Iterator[str]:
    """Every address of the server, from its OpenAPI description."""
    testclient = import_module("starlette.testclient")
    service = MagicMock()
    service.backend.reader.queries.encoder = SimpleNamespace(
        vocabulary=chamfer.Vocabulary(("a",), frozenset()), dimensions=1
    )
    server = import_module("chamfer.serve.app").create_app(service)
    description = testclient.TestClient(server).get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            yield f"\n## `{method.upper()} {path}`\n\n{operation['summary']}\n"
            yield from _parameters(operation.get("parameters", []))
            for media, content in operation.get("requestBody", {}).get("content", {}).items():
                yield f"Request (`{media}`): {_type(content['schema'])}\n"
            for media, content in operation["responses"].get("200", {}).get("content", {}).items():
                yield f"Response (`{media}`): {_type(content.get('schema', {}))}\n"
    yield "\n## Objects\n"
    for name, schema in sorted(schemas.items()):
        if "properties" in schema:
            yield f"\n### {name}\n\n{schema.get('description', '')}\n"
            yield from _properties(schema)


def _parameters(parameters: list[dict[str, Any]]) -> Iterator[str]:
    if parameters:
        yield "| name | where | type |\n| --- | --- | --- |"
        for one in parameters:
            yield f"| `{one['name']}` | {one['in']} | {_type(one['schema'])} |"
        yield ""


def _properties(schema: dict[str, Any]) -> Iterator[str]:
    required = schema.get("required", [])
    yield "| field | type | meaning |\n| --- | --- | --- |"
    for name, field in schema["properties"].items():
        default = "" if name in required or field.get("default") is None else f" Default: `{field['default']}`."
        mark = " (required)" if name in required else ""
        yield f"| `{name}`{mark} | {_type(field)} | {_cell(field.get('description', ''))}{default} |"
    yield ""


def _type(schema: dict[str, Any]) -> str:
    """A JSON schema in a few words, with links to the objects of this page."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[choice]))
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    low, high = (schema.get(name) for name in ("minimum", "maximum"))
    span = f", {low} to {high}" if low is not None and high is not None else ""
    return f"{schema.get('type', 'any')}{span}"


GENERATED: dict[str, Callable[[], Iterator[str]]] = {
    "python-api": python_api,
    "command-line": command_line,
    "http-api": http_api,
}
