"""New versions of the weights: by name, with some tokens changed, or from a file."""

import reprlib
from dataclasses import replace
from io import BytesIO

from chamfer.errors import UnknownNameError
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.schemas.weights import ChangedTokens, NamedWeights
from chamfer.serve.service import weights_for
from chamfer.serve.versions import EDITED, EDITED_FROM, VERDICT, Versions, WeightsVersion
from chamfer.weights.changes import BY_HAND, changed
from chamfer.weights.files import read_weights
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights

# Largest number of changed tokens that the metadata of a version lists.
NAMED_TOKENS = 100
# Largest number of pieces of a word that an error lists.
PIECES = 10


def put_weights(queries: QueryEncoder, versions: Versions, asked: NamedWeights | ChangedTokens) -> WeightsVersion:
    """Add a version by name, or with some tokens changed, and switch to it."""
    if isinstance(asked, NamedWeights):
        return versions.put(asked.weights, asked.name or asked.weights)
    current = versions.current
    weights = queries.resolve(weights_for(asked.base, current))
    ids = weights.vocabulary.ids
    for token in asked.tokens:
        if token not in ids:
            raise UnknownNameError(_no_token(token, queries))
    places, table = [ids[token] for token in asked.tokens], weights.table.copy()
    table[places] = list(asked.tokens.values())
    is_current = asked.base == "current"
    metadata = {
        **{name: value for name, value in weights.metadata.items() if name != VERDICT},
        EDITED: sorted(asked.tokens)[:NAMED_TOKENS],
        EDITED_FROM: current.number if is_current else asked.base,
    }
    mix = weights.mix if asked.mix is None else asked.mix.mix
    changes = changed(weights.changes, weights.table, places, BY_HAND) if places else weights.changes
    edited = replace(weights, table=table, metadata=metadata, mix=mix, changes=changes)
    base = f"version {current.number}" if is_current else asked.base
    return versions.put(edited, asked.name or f"{base}, edited")


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
