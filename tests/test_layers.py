"""The rooms, the one direction of imports between them, and no cycles inside them."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import chamfer

SOURCE = Path(__file__).parents[1] / "src" / "chamfer"

# A room may import the rooms above it, never one below. The order is that of ARCHITECTURE.md.
ROOMS = [
    "errors",
    "support",
    "data",
    "tokens",
    "workers",
    "encode",
    "kernels",
    "weights",
    "explain",
    "cache",
    "index",
    "retrieve",
    "search",
    "evaluate",
    "learn",
    "reproduce",
    "client",
    "serve",
    "integrations",
    "cli",
]

LONGEST, MEDIAN = 350, 110
"""Lines of a file, and of the median file."""


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports_of(path: Path) -> set[str]:
    """The names of all chamfer modules that a file imports: at its top, inside functions, and for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {home_of(node.module, alias.name) for alias in node.names}
    return {name for name in found if name.startswith("chamfer.")}


def home_of(module: str, name: str) -> str:
    """The module that an import of a name from a module makes a file depend on; a public name has one behind it."""
    if module == "chamfer" and name in chamfer._HOME:
        return f"chamfer.{chamfer._HOME[name]}"
    return module_named(f"{module}.{name}") or module


def module_named(name: str) -> str | None:
    path = SOURCE.joinpath(*name.split(".")[1:])
    return name if name.startswith("chamfer.") and (path.is_dir() or path.with_suffix(".py").is_file()) else None


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("chamfer", *(part for part in parts if part != "__init__")))


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(SOURCE).with_suffix("").parts[0]
    assert room in ROOMS, f"{room} is not a room of the architecture"
    for name in imports_of(path):
        assert ROOMS.index(room_of(name)) <= ROOMS.index(room), f"{room} must not know {name}"


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("from chamfer import Searcher, __version__", {"chamfer.search.searcher"}),
        ("def late():\n    from chamfer import explain", {"chamfer.explain.matching"}),
        ("from chamfer import retrieve", {"chamfer.retrieve"}),
        ("from chamfer.errors import InputError", {"chamfer.errors"}),
        ("import chamfer.cli.app, numpy", {"chamfer.cli.app"}),
    ],
)
def test_public_names_count_as_imports_of_their_modules(tmp_path: Path, source: str, modules: set[str]) -> None:
    (tmp_path / "file.py").write_text(source)
    assert imports_of(tmp_path / "file.py") == modules


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_name_the_modules_that_they_use(path: Path) -> None:
    """``import chamfer`` would hide from these tests which room is used."""
    imported = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import)]
    assert "chamfer" not in [alias.name for node in imported for alias in node.names]


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_has_a_cycle(room: str) -> None:
    files = [path for path in FILES if room_of(module_of(path)) == room]
    graph = {module_of(path): {name for name in imports_of(path) if room_of(name) == room} for path in files}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in FILES}
    assert {str(path.relative_to(SOURCE)): length for path, length in lengths.items() if length > LONGEST} == {}
    with_code = sorted(length for path, length in lengths.items() if path.name != "__init__.py")
    assert with_code[len(with_code) // 2] <= MEDIAN


def test_the_architecture_page_lists_the_rooms_in_this_order() -> None:
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    rows = [
        line.split("|")[1].strip().strip("`").rstrip("/").removesuffix(".py")
        for line in page.splitlines()
        if line.startswith("| `")
    ]
    assert rows == ROOMS


@pytest.mark.parametrize(
    ("library", "owners"),
    [
        ("sentence_transformers", {"encode"}),
        # learn: an adapter is a matrix of thousands of numbers, whose gradient torch knows; see learn/adapter.py
        ("import torch", {"support", "encode", "kernels", "learn", "integrations"}),
    ],
)
def test_few_rooms_know_the_large_libraries(library: str, owners: set[str]) -> None:
    users = {path.relative_to(SOURCE).with_suffix("").parts[0] for path in FILES if library in path.read_text()}
    assert users == owners
