"""Late-interaction retrieval in which every query token has a weight.

Public names are imported on first use, so ``import chamfer`` does not import torch. They are listed in the order in
which data flows through them.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chamfer.client.asynchronous import AsyncClient
    from chamfer.client.client import Client
    from chamfer.data.collection import Collection, load_collection
    from chamfer.data.documents import Document
    from chamfer.data.ranking import Ranking
    from chamfer.encode.encoder import Encoder
    from chamfer.errors import InputError
    from chamfer.evaluate.evaluation import Evaluation
    from chamfer.evaluate.experiment import evaluate
    from chamfer.explain.explanation import Explanation
    from chamfer.explain.matching import explain
    from chamfer.index.building import build_index
    from chamfer.index.index import Index
    from chamfer.index.report import BuildReport
    from chamfer.learn.learning import learn
    from chamfer.learn.learnt import Learnt
    from chamfer.search.hits import Hit, Hits
    from chamfer.search.rerank import rerank
    from chamfer.search.searcher import Searcher
    from chamfer.tokens.batch import TokenBatch
    from chamfer.tokens.vocabulary import Vocabulary
    from chamfer.weights.adapter import Adapter
    from chamfer.weights.counting import count_frequencies
    from chamfer.weights.frequencies import DocumentFrequencies
    from chamfer.weights.mix import Mix
    from chamfer.weights.token_weights import TokenWeights

__version__ = "0.1.0"

# The module that defines each public name.
_HOME = {
    "InputError": "errors",
    "Document": "data.documents",
    "Collection": "data.collection",
    "load_collection": "data.collection",
    "TokenBatch": "tokens.batch",
    "Vocabulary": "tokens.vocabulary",
    "Encoder": "encode.encoder",
    "DocumentFrequencies": "weights.frequencies",
    "count_frequencies": "weights.counting",
    "TokenWeights": "weights.token_weights",
    "Mix": "weights.mix",
    "Adapter": "weights.adapter",
    "Ranking": "data.ranking",
    "rerank": "search.rerank",
    "Index": "index.index",
    "build_index": "index.building",
    "BuildReport": "index.report",
    "Searcher": "search.searcher",
    "Hit": "search.hits",
    "Hits": "search.hits",
    "Explanation": "explain.explanation",
    "explain": "explain.matching",
    "Evaluation": "evaluate.evaluation",
    "evaluate": "evaluate.experiment",
    "Learnt": "learn.learnt",
    "learn": "learn.learning",
    "Client": "client.client",
    "AsyncClient": "client.asynchronous",
}

__all__ = [  # noqa: RUF022 -- in the order in which data flows
    "InputError",
    "Document",
    "Collection",
    "load_collection",
    "TokenBatch",
    "Vocabulary",
    "Encoder",
    "DocumentFrequencies",
    "count_frequencies",
    "TokenWeights",
    "Mix",
    "Adapter",
    "Ranking",
    "rerank",
    "Index",
    "build_index",
    "BuildReport",
    "Searcher",
    "Hit",
    "Hits",
    "Explanation",
    "explain",
    "Evaluation",
    "evaluate",
    "Learnt",
    "learn",
    "Client",
    "AsyncClient",
]


class _Package(ModuleType):
    """Keeps public names that are also names of subpackages, such as ``explain``.

    Importing ``chamfer.explain.words`` makes Python set the attribute ``explain`` of this package to the subpackage,
    which would hide the function of the same name.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'chamfer' has no attribute {name!r}")
    return getattr(import_module(f"chamfer.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
