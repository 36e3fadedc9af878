"""Late-interaction retrieval in which every query token has a weight.

Each public name is imported when it is first used, so that ``import chamfer`` costs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chamfer.data.ranking import Ranking
    from chamfer.encode.encoder import Encoder
    from chamfer.errors import InputError
    from chamfer.index.building import build_index
    from chamfer.kernels.fold import fold
    from chamfer.learn.collection import learn_collection
    from chamfer.learn.fit import fit_weights
    from chamfer.search.reranking import rerank
    from chamfer.search.searcher import Hit, Searcher
    from chamfer.tokens.batch import TokenBatch
    from chamfer.weights.counting import count_frequencies
    from chamfer.weights.frequencies import DocumentFrequencies
    from chamfer.weights.token_weights import TokenWeights

__version__ = "0.1.0"

_HOME = {
    "InputError": "errors",
    "Ranking": "data.ranking",
    "TokenBatch": "tokens.batch",
    "Encoder": "encode.encoder",
    "fold": "kernels.fold",
    "DocumentFrequencies": "weights.frequencies",
    "count_frequencies": "weights.counting",
    "TokenWeights": "weights.token_weights",
    "build_index": "index.building",
    "rerank": "search.reranking",
    "Hit": "search.searcher",
    "Searcher": "search.searcher",
    "fit_weights": "learn.fit",
    "learn_collection": "learn.collection",
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
