"""New versions of the weights: by name, with some tokens changed, or from a file."""

import reprlib
from dataclasses import replace
from io import BytesIO

import numpy as np

from chamfer.errors import UnknownNameError
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.schemas.weights import ChangedTokens, NamedWeights, TokensResponse, WeightedToken
from chamfer.serve.service import weights_for
from chamfer.serve.versions import Versions, WeightsVersion
from chamfer.weights.files import read_weights
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights

# Largest number of changed tokens that the metadata of a version lists.
NAMED_TOKENS = 100
# Largest number of pieces of a word that an error lists.
PIECES = 10


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
            raise UnknownNameError(_no_token(token, queries))
        table[weights.vocabulary.ids[token]] = weight
    is_current = asked.base == "current"
    metadata = {
        **weights.metadata,
        "edited": sorted(asked.tokens)[:NAMED_TOKENS],
        "edited_from": current.number if is_current else asked.base,
    }
    mix = weights.mix if asked.mix is None else asked.mix.mix
    changed = replace(weights, table=table, metadata=metadata, mix=mix)
    base = f"version {current.number}" if is_current else asked.base
    return versions.put(changed, asked.name or f"{base}, edited")


def _no_token(word: str, queries: QueryEncoder) -> str:
    vocabulary = queries.encoder.vocabulary
    [read] = queries.encoder.tokenize([word], "document").token_ids
    pieces = [vocabulary.tokens[one] for one in read.tolist() if one not in vocabulary.special_ids]
    hint = f"it reads {', '.join(map(repr, pieces[:PIECES]))}; weight these instead" if pieces else "check its spelling"
    return f"the tokenizer has no token {reprlib.repr(word)}: {hint}, or see GET /weights/tokens for its tokens"


def put_file(queries: QueryEncoder, versions: Versions, content: bytes, name: str | None) -> WeightsVersion:
    """Add the weights of an uploaded file as a version, and switch to it."""
    weights = TokenWeights(*read_weights(BytesIO(content), "the uploaded file", queries.encoder.vocabulary))
    check_weights(weights, queries.encoder, queries.form)
    return versions.put(weights, name or "uploaded file")
