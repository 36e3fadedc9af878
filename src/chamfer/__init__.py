"""Late-interaction retrieval in which every query token has a weight.

Each public name is imported when it is first used, so that ``import chamfer`` costs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chamfer.counting import count_frequencies
    from chamfer.encode import Encoder
    from chamfer.errors import InputError
    from chamfer.evaluation.learning import learn_collection
    from chamfer.frequencies import DocumentFrequencies
    from chamfer.index.building import build_index
    from chamfer.kernels.fold import fold
    from chamfer.learn.fit import fit_weights
    from chamfer.ranking import Ranking
    from chamfer.reranking import rerank
    from chamfer.search import Hit, Searcher
    from chamfer.tokens import TokenBatch
    from chamfer.weights import TokenWeights

__version__ = "0.1.0"

_HOME = {
    "InputError": "errors",
    "TokenBatch": "tokens",
    "Encoder": "encode",
    "DocumentFrequencies": "frequencies",
    "count_frequencies": "counting",
    "TokenWeights": "weights",
    "fold": "kernels.fold",
    "Ranking": "ranking",
    "rerank": "reranking",
    "build_index": "index.building",
    "Hit": "search",
    "Searcher": "search",
    "fit_weights": "learn.fit",
    "learn_collection": "evaluation.learning",
}

__all__ = [
    "DocumentFrequencies",
    "Encoder",
    "Hit",
    "InputError",
    "Ranking",
    "Searcher",
    "TokenBatch",
    "TokenWeights",
    "build_index",
    "count_frequencies",
    "fit_weights",
    "fold",
    "learn_collection",
    "rerank",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'chamfer' has no attribute {name!r}")
    return getattr(import_module(f"chamfer.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
