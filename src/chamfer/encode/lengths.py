"""How many tokens of a query or a document a model reads."""

from typing import Any, NamedTuple

from chamfer.errors import InputError

# Special tokens at both ends, a marker and one token of text.
SHORTEST = 4


class Lengths(NamedTuple):
    """Token limits of a model, special tokens and markers included."""

    query: int
    document: int
    most: int


def lengths_of(transformer: Any, most: int | None = None) -> Lengths:  # noqa: ANN401 -- the library's module
    """The token limits that a transformer is set to.

    Args:
        transformer: the first module of the model.
        most: number of positions of the model, if it is known already.
    """
    most = most_tokens(transformer) if most is None else most
    if fills_queries(transformer):
        query = transformer.query_expansion["length"]
    else:
        query = min(transformer.query_length or transformer.max_seq_length, most)
    document = min(transformer.document_length or transformer.max_seq_length, most)
    return Lengths(int(query), int(document), most)


def set_lengths(transformer: Any, query_length: int | None, document_length: int | None) -> Lengths:  # noqa: ANN401
    """Set the limits of a transformer; ``None`` keeps the model's own."""
    own = lengths_of(transformer)
    for what, length in (("query", query_length), ("document", document_length)):
        if length is not None and not SHORTEST <= length <= own.most:
            raise InputError(
                f"the {what} length must be between {SHORTEST} and {own.most} tokens for this model, not {length}"
            )
    lengths = Lengths(query_length or own.query, document_length or own.document, own.most)
    transformer.document_length = lengths.document
    expansion = transformer.query_expansion
    if fills_queries(transformer):
        transformer.query_expansion = {**expansion, "length": lengths.query}
        return lengths
    if expansion is not None:  # short queries are filled to a minimum length, which must not exceed the maximum
        transformer.query_expansion = {**expansion, "length": min(expansion["length"], lengths.query)}
    transformer.query_length = lengths.query
    return lengths


def fills_queries(transformer: Any) -> bool:  # noqa: ANN401
    """Whether a transformer fills every query with ``[MASK]`` to the same length."""
    expansion = transformer.query_expansion
    return expansion is not None and bool(expansion["strategy"] == "fixed")


def most_tokens(transformer: Any) -> int:  # noqa: ANN401
    """Number of tokens that a transformer has positions for."""
    model = transformer.auto_model
    positions = getattr(model.config, "max_position_embeddings", None) or 2**31
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)  # RoBERTa's first position comes after its padding
    return int(positions if padding is None else positions - padding - 1)
