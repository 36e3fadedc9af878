"""First stages by name: every file of this room that defines a ``STAGE`` is one, under the name of the file."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from chamfer import retrieve
from chamfer.errors import InputError
from chamfer.retrieve.fusion import Fusion
from chamfer.retrieve.stage import DEFAULT_DEPTH, FirstStage, Stage

if TYPE_CHECKING:
    from chamfer.index.snapshot import Snapshot

AUTO, EXACT, LARGE, BM25 = "auto", "exhaustive", "centroids", "bm25"
"""``auto`` is ``exhaustive``, which needs no candidates, for a small index, and ``centroids`` for a large one."""

# Up to this many numbers (tokens times dimensions), scoring every document is faster: on two cores with AVX-512 it took
# 3.8 ms against 5.0 at 72 million, and 6.9 against 5.4 at 147 million; see docs/results/search.md.
FEW = 100_000_000


def stage_names() -> tuple[str, ...]:
    """The names of all first stages. Files are read, not imported: help texts must not wait for faiss."""
    modules = (module.name for module in iter_modules(retrieve.__path__))
    return tuple(name for name in modules if _defines_stage(name))


def _defines_stage(name: str) -> bool:
    spec = find_spec(f"{retrieve.__name__}.{name}")
    return spec is not None and bool(re.search(r"^STAGE\b", Path(spec.origin or "").read_text(), re.MULTILINE))


def stage_named(name: str) -> Stage:
    """The first stage that a file declares."""
    declared: Stage = import_module(f"{retrieve.__name__}.{name}").STAGE
    return declared


def choices() -> str:
    """The valid names of first stages, for help texts and errors."""
    return f"{AUTO}, {', '.join(stage_names())}, or several joined by +, as in bm25+centroids"


def check_stage(name: str) -> None:
    """Refuse a name that no first stage has."""
    parts, names = name.split("+"), stage_names()
    known = all(part in names for part in parts) and len(set(parts)) == len(parts)
    if name != AUTO and not known:
        raise InputError(f"first stages are {choices()}, not {name!r}")


def chosen_name(name: str, index: "Snapshot") -> str:
    """Resolve ``auto``: score every document while that is fastest.

    A GPU scores all documents in its memory in less time than any other stage takes.
    """
    if name != AUTO:
        return name
    if index.fits_device:
        return EXACT
    if index.settings.bits:  # without the native kernel, scoring every document would decode all residuals
        return LARGE
    return fastest_name(sum(len(segment.centroids) for segment in index.segments), index.dimensions)


def fastest_name(tokens: int, dimensions: int) -> str:
    """The fastest first stage on a CPU, for a number of token vectors."""
    return EXACT if tokens * dimensions <= FEW else LARGE


def open_stage(name: str, index: "Snapshot") -> FirstStage:
    """Open a first stage, or several fused: ``centroids``, ``bm25+dense``."""
    check_stage(name)
    stages = [stage_named(part).open(index) for part in chosen_name(name, index).split("+")]
    return stages[0] if len(stages) == 1 else Fusion(stages)


def depth_of(name: str) -> int:
    """Number of candidates of a stage to score exactly by default."""
    return DEFAULT_DEPTH if "+" in name else stage_named(name).depth
