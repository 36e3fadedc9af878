"""First stages by the name a user gives."""

from collections.abc import Callable, Mapping

from chamfer.errors import InputError
from chamfer.index.reading import Index
from chamfer.kernels.form import Form
from chamfer.retrieve.bm25 import BM25Stage
from chamfer.retrieve.centroids import Centroids
from chamfer.retrieve.dense import Dense
from chamfer.retrieve.exhaustive import Exhaustive
from chamfer.retrieve.fusion import Fusion
from chamfer.retrieve.muvera import Muvera
from chamfer.retrieve.stage import FirstStage

STAGES: Mapping[str, Callable[[Index, Form], FirstStage]] = {
    "bm25": lambda index, _: BM25Stage(index),
    "centroids": lambda index, form: Centroids(index, form=form),
    "dense": lambda index, _: Dense(index),
    "exhaustive": lambda index, form: Exhaustive(index, form=form),
    "muvera": lambda index, _: Muvera(index),
}
NAMES = ("auto", *STAGES)

EXACT = "exhaustive"

# Candidates that are scored exactly. Centroids order them by an estimate of the score itself, so fewer are enough.
DEPTH = {"centroids": 400}
DEFAULT_DEPTH = 1000

# Up to so many numbers, tokens times dimensions, looking at every document is the faster way: on two cores with AVX-512
# it took 3.8 ms against 5.0 at 72 million, and 6.9 against 5.4 at 147 million; see docs/results/search.md.
FEW = 100_000_000


def chosen_name(name: str, index: Index) -> str:
    """What ``auto`` means for an index: everything is looked at up to the size where that stops being fastest.

    A GPU looks at everything it holds in less time than another stage needs.
    """
    if name != "auto":
        return name
    if index.fits_device:
        return EXACT
    tokens = sum(len(segment.centroids) for segment in index.segments)
    return EXACT if tokens * index.dimensions <= FEW and not index.settings.bits else "centroids"


def open_stage(name: str, index: Index, *, form: Form = "l2") -> FirstStage:
    """Make a first stage, or several joined: ``centroids``, ``bm25+dense``."""
    check_stage(name)
    stages = [STAGES[part](index, form) for part in chosen_name(name, index).split("+")]
    return stages[0] if len(stages) == 1 else Fusion(stages)


def check_stage(name: str) -> None:
    """Refuse a name that no first stage has."""
    parts = name.split("+")
    known = all(part in STAGES for part in parts) and len(set(parts)) == len(parts)
    if name != "auto" and not known:
        raise InputError(f"first stages are {', '.join(NAMES)}, or two joined as in bm25+centroids, not {name!r}")


def depth_of(name: str) -> int:
    """How many candidates of a stage are scored exactly if nothing else is asked."""
    return DEPTH.get(name, DEFAULT_DEPTH)
