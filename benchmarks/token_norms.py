"""The norms of token states before an encoder makes unit vectors of them."""

from collections.abc import Sequence
from typing import get_args

import numpy as np
import numpy.typing as npt
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Normalize

from chamfer import Encoder
from chamfer.encode.library_model import module_of
from chamfer.encode.settings import Role


def token_norms(encoder: Encoder, queries: Sequence[str]) -> list[npt.NDArray[np.float32]]:
    """The norms of each query's token states, ``(tokens,)`` in the order of its tokens."""
    model = module_of(encoder._model)  # the library has no use for states that are not normalised
    modules = [module for module in model if not isinstance(module, Normalize)]
    without = MultiVectorEncoder(
        modules=modules, prompts={role: encoder.prompt(role) for role in get_args(Role)}, device=encoder.device
    )
    states = Encoder(without.eval(), encoder.name).encode_queries(queries)
    norms = np.linalg.norm(states.vectors, axis=1).astype(np.float32)
    return np.split(norms, states.offsets[1:-1])
