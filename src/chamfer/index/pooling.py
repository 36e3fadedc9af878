"""Token pooling: similar tokens of a document share one vector."""

import numpy as np

from chamfer.support.threads import map_in_threads
from chamfer.tokens.batch import TokenBatch, TokenIds, Vectors


def pool(tokens: TokenBatch, factor: int) -> TokenBatch:
    """Replace the vectors of each document by the means of Ward clusters, one for every ``factor`` tokens.

    A mean is normalised, and gets the id of the first token of its cluster.
    """
    if factor == 1:
        return tokens
    texts = [tokens[place] for place in range(len(tokens))]
    pooled = map_in_threads(lambda text: _pool_one(text.vectors.astype(np.float32), text.token_ids, factor), texts)
    if not pooled:
        return tokens
    return TokenBatch.pack([vectors for vectors, _ in pooled], [ids for _, ids in pooled])


def _pool_one(vectors: Vectors, token_ids: TokenIds, factor: int) -> tuple[Vectors, TokenIds]:
    count = -(-len(vectors) // factor)
    if count == len(vectors):
        return vectors, token_ids
    from scipy.cluster.hierarchy import fcluster, linkage  # takes a third of a second

    group = fcluster(linkage(vectors, method="ward"), count, criterion="maxclust") - 1
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    order = np.argsort(first)  # order of the text
    first, group = first[order], np.argsort(order)[group]
    sums = np.zeros((len(first), vectors.shape[1]), np.float32)
    np.add.at(sums, group, vectors)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    opposite = norms[:, 0] < 1e-6  # opposite vectors have no mean direction
    sums[opposite], norms[opposite] = vectors[first[opposite]], 1
    return sums / norms, token_ids[first]
