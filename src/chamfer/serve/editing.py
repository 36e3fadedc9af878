"""New versions of the weights: by name, with some tokens changed, or from a file."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from chamfer.errors import InputError, UnknownNameError
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.schemas.weights import ChangedTokens, NamedWeights, TokensResponse, WeightedToken
from chamfer.serve.service import weights_for
from chamfer.serve.versions import Versions, WeightsVersion
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights

# Largest number of changed tokens that the metadata of a version lists.
NAMED_TOKENS = 100


def list_tokens(
    queries: QueryEncoder, version: WeightsVersion, contains: str, order: str, limit: int
) -> TokensResponse:
    """List the heaviest or lightest tokens whose spelling contains a text; an exact match comes first."""
    weights = queries.resolve(version.weights)
    wanted = contains.lower()
    chosen = [place for place, token in enumerate(weights.vocabulary.tokens) if wanted in token.lower()]
    heaviest, lightest = weights.extremes(limit, among=np.array(chosen, np.int32))
    found = sorted(heaviest if order == "heaviest" else lightest, key=lambda pair: pair[0].lower() != wanted)
    return TokensResponse(
        version=version.number, tokens=[WeightedToken(token=token, weight=weight) for token, weight in found]
    )


def put_weights(queries: QueryEncoder, versions: Versions, asked: NamedWeights | ChangedTokens) -> WeightsVersion:
    """Add a version by name, or with some tokens changed, and switch to it."""
    if isinstance(asked, NamedWeights):
        return versions.put(asked.weights, asked.name or asked.weights)
    current = versions.current
    weights = queries.resolve(weights_for(asked.base, current))
    table = weights.table.copy()
    for token, weight in asked.tokens.items():
        if token not in weights.vocabulary.ids:
            raise UnknownNameError(f"the tokenizer has no token {token!r}; GET /weights/tokens lists its tokens")
        table[weights.vocabulary.ids[token]] = weight
    is_current = asked.base == "current"
    metadata = {
        **weights.metadata,
        "edited": sorted(asked.tokens)[:NAMED_TOKENS],
        "edited_from": current.number if is_current else asked.base,
    }
    changed = TokenWeights(table, weights.vocabulary, metadata, weights.context)
    base = f"version {current.number}" if is_current else asked.base
    return versions.put(changed, asked.name or f"{base}, edited")


def put_file(queries: QueryEncoder, versions: Versions, content: bytes, name: str | None) -> WeightsVersion:
    """Add the weights of an uploaded file as a version, and switch to it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sent.safetensors"
        path.write_bytes(content)
        try:
            weights = TokenWeights.load(path)
        except InputError:
            raise InputError(
                "the body is not a weights file; send a .safetensors file from chamfer learn or chamfer weights"
            ) from None
    check_weights(weights, queries.encoder, queries.form)
    # All versions share the encoder's vocabulary; the file's own copy would stay in memory with its version.
    shared = TokenWeights(weights.table, queries.encoder.vocabulary, weights.metadata, weights.context)
    return versions.put(shared, name or "uploaded file")
