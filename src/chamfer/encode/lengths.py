"""How many tokens of a query or a document a model reads."""

from typing import Any, NamedTuple

from chamfer.encode.settings import Role
from chamfer.errors import InputError

# Special tokens at both ends, a marker and one token of text.
SHORTEST = 4

# Longer than any window of local attention, such as 128 tokens in ModernBERT and 512 in Longformer. A compiled model
# that is right here is right for longer texts, on which comparing takes minutes.
LONG = 1024


class Lengths(NamedTuple):
    """Token limits of a model, special tokens and markers included."""

    query: int
    document: int
    most: int
    """Number of tokens that the model has positions for."""

    @property
    def compared(self) -> int:
        """Number of tokens of the longest text on which a compiled model is compared: the longest that it reads."""
        return min(max(self.query, self.document), LONG)

    def limit(self, role: Role) -> int:
        """Maximum number of tokens that the model reads of a text."""
        return self.query if role == "query" else self.document

    def changed(self, query: int | None, document: int | None) -> "Lengths":
        """Other limits for the same model; ``None`` keeps one."""
        for what, length in (("query", query), ("document", document)):
            if length is not None and not SHORTEST <= length <= self.most:
                raise InputError(
                    f"the {what} length must be between {SHORTEST} and {self.most} tokens for this model, not {length}"
                )
        return self._replace(query=query or self.query, document=document or self.document)


def truncation_note(what: str, truncated: int, total: int, length: int | None) -> str:
    """A sentence about texts that were longer than a model reads; a server does not say how much that is.

    >>> truncation_note("queries", 2, 10, 64)
    '2 of 10 queries were truncated to 64 tokens'
    """
    limit = "what the model reads" if length is None else f"{length} tokens"
    return f"{truncated} of {total} {what} were truncated to {limit}"


def lengths_of(transformer: Any) -> Lengths:  # noqa: ANN401 -- the library's module
    """The token limits that a transformer is set to."""
    most = most_tokens(transformer)
    if fills_queries(transformer):
        query = transformer.query_expansion["length"]
    else:
        query = min(transformer.query_length or transformer.max_seq_length, most)
    document = min(transformer.document_length or transformer.max_seq_length, most)
    return Lengths(int(query), int(document), most)


def set_lengths(transformer: Any, lengths: Lengths) -> None:  # noqa: ANN401
    """Set a transformer to token limits."""
    transformer.document_length = lengths.document
    expansion = transformer.query_expansion
    if fills_queries(transformer):
        transformer.query_expansion = {**expansion, "length": lengths.query}
        return
    if expansion is not None:  # short queries are filled to a minimum length, which must not exceed the maximum
        transformer.query_expansion = {**expansion, "length": min(expansion["length"], lengths.query)}
    transformer.query_length = lengths.query


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
