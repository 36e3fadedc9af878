"""What is shown of the weights: their versions, their tokens, and how they are distributed."""

from typing import Any, get_args

from chamfer.explain.words import Spelling
from chamfer.learn.verdict import Found
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.differences import difference
from chamfer.serve.schemas.fields import MixFields
from chamfer.serve.schemas.weights import (
    DistributionResponse,
    ListedVersion,
    TokensResponse,
    WeightBin,
    WeightedToken,
    WeightsResponse,
)
from chamfer.serve.token_table import Order, TokenTable
from chamfer.serve.versions import EDITED_FROM, VERDICT, Versions, WeightsVersion
from chamfer.weights.names import mix_of
from chamfer.weights.token_weights import TokenWeights

# Number of words at either end of the distribution.
WORDS = 10


def list_versions(queries: QueryEncoder, versions: Versions) -> WeightsResponse:
    """List the versions, newest first, each with what made it and how it differs from the one before."""
    found, current = versions.all(), versions.current.number
    before = [*found[1:], None]
    return WeightsResponse(
        version=current, versions=[_listed(queries, one, base) for one, base in zip(found, before, strict=True)]
    )


def list_tokens(
    queries: QueryEncoder,
    table: TokenTable,
    contains: str,
    order: Order,
    limit: int,
    *,
    least: float | None = None,
    below: float | None = None,
) -> TokensResponse:
    """List tokens, see :meth:`TokenTable.find`, and those that a text is read as."""
    found = table.find(contains, order, limit, least=least, below=below)
    read = [token for token, span in queries.encoder.spans(contains) if span is not None] if contains.strip() else []
    words = Spelling(table.weights.vocabulary).words(read)
    return TokensResponse(
        version=table.number,
        tokens=[_weighted(table, token) for token in found],
        read=[[_weighted(table, token) for token in word] for word in words],
    )


def distribution(queries: QueryEncoder, table: TokenTable) -> DistributionResponse:
    """How weights are distributed over the tokens that occur, with well-known words at both ends."""

    def words(order: Order) -> list[WeightedToken]:
        return [_weighted(table, token) for token in table.find("", order, WORDS, frequent=True)]

    return DistributionResponse(
        version=table.number,
        documents=table.frequencies.documents,
        passages=queries.index.settings.passages is not None,
        tokens=int(table.occurring.sum()),
        middle=table.middle,
        bins=[WeightBin(least=one.least, below=one.below, tokens=one.size) for one in table.bins],
        frequent=int(table.frequent.sum()),
        heaviest=words("heaviest"),
        lightest=words("lightest"),
    )


def _listed(queries: QueryEncoder, one: WeightsVersion, base: WeightsVersion | None) -> ListedVersion:
    # Anything can stand in the metadata of an uploaded file.
    made: dict[str, Any] = dict(one.weights.metadata) if isinstance(one.weights, TokenWeights) else {}
    edited_from, learnt_from, verdict = (made.get(name) for name in (EDITED_FROM, "learnt_from", VERDICT))
    return ListedVersion(
        version=one.number,
        name=one.name,
        made=one.made,
        recipe=one.recipe,
        origin=one.origin,
        edited_from=edited_from if one.origin == "edited" and type(edited_from) in (int, str) else None,
        learnt_from=learnt_from if one.origin != "computed" and type(learnt_from) is int else None,
        verdict=verdict if verdict in get_args(Found) else None,
        mix=MixFields.of(mix_of(one.weights, queries.encoder)),
        difference=None if base is None else difference(queries, base, one),
    )


def _weighted(table: TokenTable, token: int) -> WeightedToken:
    return WeightedToken(
        **table.spelled.fields(token),
        weight=float(table.weights.table[token]),
        documents=int(table.frequencies.counts[token]),
        origin=table.origin(token),
        before=table.before(token),
    )
