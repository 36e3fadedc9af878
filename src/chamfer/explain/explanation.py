"""`Explanation`: the score of one document, taken apart token by token."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from chamfer.errors import InputError
from chamfer.explain.notebook import explanation_as_html
from chamfer.explain.words import Span
from chamfer.kernels.form import Form


class Match(NamedTuple):
    """One query token and the document token that it found closest."""

    token: str
    """As the tokenizer spells it."""
    text: str
    """The piece of a word that it spells."""
    of_word: str
    """That word."""
    starts_word: bool
    special: bool
    """Whether it carries structure instead of text: ``[CLS]``, ``[MASK]``, a marker."""
    weight: float
    matched: str
    """The document token, as the tokenizer spells it."""
    word: str
    """The whole word of the document that this is a piece of."""
    span: Span | None
    """Where it is in the document's text, if that is known and the token stands for text."""
    distance: float
    contribution: float
    """What the token adds to the score; the contributions of all tokens add up to it."""

    def strength(self, form: Form) -> float:
        """How much of the match there is to see: the weight times the cosine, 0 for what is not alike at all.

        A contribution would not do: in the form ``l2`` a perfect match adds nothing, because it costs nothing.
        """
        cosine = 1 - self.distance**2 / 2 if form == "l2" else -self.distance
        return self.weight * max(cosine, 0.0)


class Word(NamedTuple):
    """The pieces of one query word together."""

    text: str
    matched: str
    """The document's words that its pieces matched."""
    weight: float
    """The largest of its pieces."""
    contribution: float
    share: float
    """Of all that words add, by size."""
    special: bool


class Difference(NamedTuple):
    """What one query word adds to two scores."""

    text: str
    one: float
    other: float

    @property
    def gain(self) -> float:
        """How much more it adds to the first; the gains of all words add up to the difference of the scores."""
        return self.one - self.other


@dataclass(frozen=True)
class Explanation:
    """Why a document has its score for a query.

    Args:
        matches: one for each query token, in order.
        form: ``l2`` or ``cosine``.
        document_id: which document it is, if it has a name.
        document: its text, if it is known.
    """

    matches: tuple[Match, ...]
    form: Form = "l2"
    document_id: str = ""
    document: str | None = None

    @property
    def score(self) -> float:
        """The sum of all contributions."""
        return math.fsum(match.contribution for match in self.matches)

    @property
    def special_share(self) -> float:
        """The share that tokens carry which stand for no text."""
        return self._share([match for match in self.matches if match.special])

    @property
    def words(self) -> list[Word]:
        """Query words, their pieces joined."""
        starts = [place for place, match in enumerate(self.matches) if match.starts_word]
        bounds = [*starts, len(self.matches)]
        return [self._word(self.matches[start:stop]) for start, stop in pairwise(bounds)]

    def against(self, other: "Explanation") -> list[Difference]:
        """What each query word adds to this score and to another one for the same query, the largest difference first.

        Of two documents it tells why one is above the other; of one document with two weightings, what changed.
        """
        mine, theirs = self.words, other.words
        if [word.text for word in mine] != [word.text for word in theirs]:
            raise InputError("scores are compared for the same query; these are of different ones")
        pairs = zip(mine, theirs, strict=True)
        differences = [Difference(one.text, one.contribution, another.contribution) for one, another in pairs]
        return sorted(differences, key=lambda difference: -abs(difference.gain))

    def as_json(self) -> dict[str, Any]:
        """Ready for ``json.dumps``."""
        return {
            "id": self.document_id,
            "score": self.score,
            "form": self.form,
            "special_share": self.special_share,
            "words": [word._asdict() for word in self.words],
            "matches": [match._asdict() for match in self.matches],
        }

    def _repr_html_(self) -> str:
        return explanation_as_html(self)

    def _word(self, pieces: Sequence[Match]) -> Word:
        contribution = math.fsum(piece.contribution for piece in pieces)
        return Word(
            text=pieces[0].of_word,
            matched=" ".join(dict.fromkeys(piece.word for piece in pieces)),
            weight=max(piece.weight for piece in pieces),
            contribution=contribution,
            share=self._share(pieces),
            special=all(piece.special for piece in pieces),
        )

    def _share(self, part: Sequence[Match]) -> float:
        """By absolute values: in the form ``cosine`` contributions have both signs."""
        whole = math.fsum(abs(match.contribution) for match in self.matches)
        return math.fsum(abs(match.contribution) for match in part) / whole if whole else 0.0


class Explanations(list[Explanation]):
    """Several of them; a notebook shows each."""

    def _repr_html_(self) -> str:
        return "".join(explanation._repr_html_() for explanation in self)
