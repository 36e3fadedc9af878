"""What an explanation is made of: token matches, query words, evidence, and differences between two scores."""

from typing import NamedTuple

from chamfer.explain.words import Span
from chamfer.weights.mix import Evidence


class Match(NamedTuple):
    """One query token and its closest document token."""

    token: str
    """The query token, as the tokenizer spells it."""
    text: str
    """The word piece that the token spells."""
    of_word: str
    """The whole query word."""
    starts_word: bool
    """Whether the token begins that word."""
    special: bool
    """Whether the token carries no text: ``[CLS]``, ``[MASK]``, a marker."""
    weight: float
    """The weight of the token."""
    matched: str
    """The document token, as the tokenizer spells it."""
    word: str
    """The whole document word that the matched token belongs to."""
    span: Span | None
    """Character range of the matched token in the document text; None if the token carries no text or the text is
    unknown."""
    distance: float
    """Distance of the two tokens; in the form ``cosine``, minus their cosine."""
    contribution: float
    """What the match contributes to the score: nothing at the distance of unrelated vectors, most for equal ones. All
    contributions, of tokens and of evidence, add up to the score."""


class Word(NamedTuple):
    """One query word, its tokens taken together."""

    text: str
    """The word."""
    matched: str
    """The document words that its tokens matched."""
    weight: float
    """The largest weight among its tokens."""
    contribution: float
    """What its matches bring to the score."""
    share: float
    """Its share of the score, from 0 to 1."""
    special: bool
    """Whether it is a special token, which carries no text."""


class EvidencePart(NamedTuple):
    """One piece of evidence beside the tokens."""

    name: Evidence
    """``lexical`` or ``pooled``."""
    value: float
    """BM25's score of the document, or the cosine of the mean query vector and the mean document vector."""
    factor: float
    """Its factor in the mix."""
    perfect: float
    """The value for the query's own text, which is a perfect match."""
    contribution: float
    """What it contributes to the score."""


class Difference(NamedTuple):
    """What one query word, or one piece of evidence, contributes to each of two scores."""

    text: str
    """The word, or the name of the evidence."""
    one: float
    """Its contribution to the first score."""
    other: float
    """Its contribution to the second score."""
    is_evidence: bool = False
    """Whether it is evidence beside the query words."""

    @property
    def gain(self) -> float:
        """The first contribution minus the second; all gains add up to the difference of the scores."""
        return self.one - self.other

    @property
    def shown(self) -> str:
        """The text for a table."""
        return f"{self.text} evidence" if self.is_evidence else self.text
