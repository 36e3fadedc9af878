"""How one version of the weights differs from another."""

import numpy as np
import numpy.typing as npt

from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.schemas.fields import MixFields
from chamfer.serve.schemas.weights import ChangedToken, ChangesResponse, Difference
from chamfer.serve.spellings import spelled
from chamfer.serve.versions import WeightsVersion
from chamfer.weights.names import mix_of
from chamfer.weights.token_weights import TokenWeights

# Weights that differ by less than this share are equal to anybody who looks at them.
CLOSE = 1e-3
# Largest number of changed tokens in a list of versions, and in a comparison.
LISTED, COMPARED = 3, 12


def difference(
    queries: QueryEncoder, base: WeightsVersion, version: WeightsVersion, *, most: int = LISTED
) -> Difference:
    """How a version differs from another one.

    Args:
        queries: encodes queries for the commit that is served.
        base: the version to compare with.
        version: the version.
        most: largest number of tokens to list.
    """
    before, after = queries.resolve(base.weights), queries.resolve(version.weights)
    spelling, counts = spelled(after.vocabulary), queries.index.frequencies.counts
    occurring = np.flatnonzero(counts)
    old, new = before.table[occurring], after.table[occurring]
    differ = np.abs(new - old) > CLOSE * np.maximum(old, new)
    places, moved = occurring[differ], (new - old)[differ]
    size = np.abs(moved)
    if len(size) > most:  # sorting all of them would take most of the time
        places = places[size >= np.partition(size, -most)[-most]]
        size = np.abs(after.table - before.table)[places]
    largest = places[np.lexsort((spelling.rank[places], -counts[places], -size))[:most]]
    return Difference(
        base=base.number,
        heavier=int((moved > 0).sum()),
        lighter=int((moved < 0).sum()),
        largest=[
            ChangedToken(
                **spelling.fields(token),
                before=float(before.table[token]),
                after=float(after.table[token]),
                documents=int(counts[token]),
            )
            for token in largest.tolist()
        ],
        context=not _equal(before.context, after.context),
        adapter=not all(_equal(one, other) for one, other in zip(_maps(before), _maps(after), strict=True)),
    )


def compare_versions(queries: QueryEncoder, base: WeightsVersion, version: WeightsVersion) -> ChangesResponse:
    """Compare a version with another one; see :func:`difference`."""
    found = difference(queries, base, version, most=COMPARED)
    mix, base_mix = (MixFields.of(mix_of(one.weights, queries.encoder)) for one in (version, base))
    return ChangesResponse(**dict(found), version=version.number, mix=mix, base_mix=base_mix)


def _maps(weights: TokenWeights) -> tuple[npt.NDArray[np.float32] | None, ...]:
    return (None, None) if weights.adapter is None else (weights.adapter.down, weights.adapter.up)


def _equal(one: npt.NDArray[np.float32] | None, other: npt.NDArray[np.float32] | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
