"""A digest of weights: equal for weights that score alike."""

import hashlib

from chamfer.weights.token_weights import TokenWeights


def digest_of(weights: TokenWeights) -> str:
    """A digest of everything in weights that scores depend on, which their metadata is not.

    >>> from chamfer import Mix, Vocabulary
    >>> one = TokenWeights.uniform(Vocabulary(("cat", "dog"), frozenset()))
    >>> digest_of(one) == digest_of(one.with_mix(Mix())), digest_of(one) == digest_of(one.with_mix(Mix(pooled=0.4)))
    (True, False)
    """
    digest = hashlib.sha256(weights.table.tobytes())
    digest.update(b"" if weights.context is None else weights.context.tobytes())
    digest.update(repr((weights.adapter, weights.mix)).encode())
    for matrix in () if weights.adapter is None else (weights.adapter.down, weights.adapter.up):
        digest.update(matrix.tobytes())
    return digest.hexdigest()
