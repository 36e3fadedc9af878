"""The rooms and the one direction of imports between them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "chamfer"

# A room may import the rooms above it, never one below. The order is that of ARCHITECTURE.md.
ROOMS = [
    "errors",
    "files",
    "progress",
    "threads",
    "devices",
    "jsonlines",
    "html",
    "documents",
    "tokens",
    "vocabulary",
    "batch",
    "encode",
    "kernels",
    "frequencies",
    "weights",
    "exchange",
    "counting",
    "weightings",
    "explain",
    "store",
    "cache",
    "ranking",
    "index",
    "retrieve",
    "reranking",
    "search",
    "chance",
    "learn",
    "evaluation",
    "reproduce",
    "serve",
    "pipelines",
    "cli",
]


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports_of(path: Path) -> set[str]:
    """The names of all chamfer modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "chamfer":
            found |= {f"chamfer.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.startswith("chamfer.") and room_of(name) != "__version__"}


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(SOURCE).with_suffix("").parts[0]
    assert room in ROOMS, f"{room} is not a room of the architecture"
    for name in imports_of(path):
        assert ROOMS.index(room_of(name)) <= ROOMS.index(room), f"{room} must not know {name}"


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
    [("sentence_transformers", {"encode"}), ("import torch", {"devices", "encode", "kernels", "pipelines"})],
)
def test_few_rooms_know_the_large_libraries(library: str, owners: set[str]) -> None:
    users = {path.relative_to(SOURCE).with_suffix("").parts[0] for path in FILES if library in path.read_text()}
    assert users == owners


def test_importing_chamfer_imports_no_torch() -> None:
    code = "import sys, chamfer; chamfer.TokenWeights; assert not {'torch', 'sentence_transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_every_public_name_can_be_imported() -> None:
    import chamfer

    assert all(getattr(chamfer, name) is not None for name in chamfer.__all__)
    assert set(chamfer.__all__) < set(dir(chamfer))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        chamfer.nothing  # noqa: B018
