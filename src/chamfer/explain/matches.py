"""What an explanation is made of: token matches, query words, and differences between two scores."""

from typing import NamedTuple

from chamfer.explain.words import Span
from chamfer.kernels.form import Form


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
    """The token's part of the score; the contributions of all tokens add up to it."""

    def strength(self, form: Form) -> float:
        """How visibly to highlight the match: weight times cosine similarity, never below 0.

        The contribution would not do: in the form ``l2`` a perfect match has distance 0 and contributes nothing.
        """
        cosine = 1 - self.distance**2 / 2 if form == "l2" else -self.distance
        return self.weight * max(cosine, 0.0)


class Word(NamedTuple):
    """One query word, its tokens taken together."""

    text: str
    """The word."""
    matched: str
    """The document words that its tokens matched."""
    weight: float
    """The largest weight among its tokens."""
    contribution: float
    """Its part of the score."""
    share: float
    """Its part of the sum of absolute contributions, from 0 to 1."""
    special: bool
    """Whether it is a special token, which carries no text."""


class Difference(NamedTuple):
    """What one query word contributes to each of two scores."""

    text: str
    """The word."""
    one: float
    """Its contribution to the first score."""
    other: float
    """Its contribution to the second score."""

    @property
    def gain(self) -> float:
        """The first contribution minus the second; the gains of all words add up to the difference of the scores."""
        return self.one - self.other
