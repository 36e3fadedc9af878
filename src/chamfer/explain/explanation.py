"""`Explanation`: the score of one document, broken down by query token and evidence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from chamfer.data.documents import Passage
from chamfer.errors import InputError
from chamfer.explain.matches import Difference, EvidencePart, Match, Word
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.support.notebook import Row, marked, table
from chamfer.weights.scale import Scale

SPECIAL_TOKENS = "special tokens"
"""What the line of all special tokens is called."""


@dataclass(frozen=True)
class Explanation:
    """Why a document has its score for a query.

    Made by :func:`chamfer.explain` and :meth:`chamfer.Searcher.explain`. A notebook shows it as a table of query words
    above the document, with the matched words highlighted.

    Args:
        matches: one match for each query token, in order.
        form: ``l2`` or ``cosine``.
        document_id: id of the document; empty if it has none.
        document: title and text of the document, joined by a space; None if unknown.
        query_read: number of characters of the query that the model read, if it was longer than that; BM25 counts
            the words of all of it. None if the model read it all.
        evidence: what counts beside the tokens, if the weights have a mix.
        title: title of the document, if there is one.
        passage: the passage of the document that is explained, in an index of passages.

    >>> from chamfer import Encoder, explain
    >>> why = explain("capital of France", "Paris is the French capital.", encoder=Encoder.load("minilm"))
    >>> [(word.text, word.matched) for word in why.words if not word.special]
    [('capital', 'capital'), ('of', '[SEP]'), ('france', 'french')]
    >>> abs(why.score - sum(match.contribution for match in why.matches)) < 1e-9
    True
    """

    matches: tuple[Match, ...]
    form: Form = DEFAULT_FORM
    document_id: str = ""
    document: str | None = None
    query_read: int | None = None
    evidence: tuple[EvidencePart, ...] = ()
    title: str = ""
    passage: Passage | None = None

    @property
    def score(self) -> float:
        """The sum of all contributions, of tokens and of evidence."""
        return math.fsum(part.contribution for part in self._parts)

    @property
    def query_was_truncated(self) -> bool:
        """Whether the query was longer than the model reads."""
        return self.query_read is not None

    @property
    def paper_score(self) -> float:
        """The score in the paper's form, ``-mean_i(w_i * distance_i)``, which nothing beside the tokens adds to."""
        return -math.fsum(match.weight * match.distance for match in self.matches) / len(self.matches)

    @property
    def special_share(self) -> float:
        """The share of the score, from 0 to 1, that comes from special tokens."""
        return self._share([match for match in self.matches if match.special])

    @property
    def words(self) -> list[Word]:
        """The query words in order, with the matches of their word pieces merged."""
        starts = [place for place, match in enumerate(self.matches) if match.starts_word]
        bounds = [*starts, len(self.matches)]
        return [self._word(self.matches[start:stop]) for start, stop in pairwise(bounds)]

    def with_uniform_weights(self) -> "Explanation":
        """The same matches if every token had the weight 1, and nothing counted beside them.

        Distances do not depend on weights. They do depend on an adapter: if the weights have one, these are still the
        distances of the adapted query.
        """
        distances = np.array([match.distance for match in self.matches])
        parts = Scale(np.ones(len(distances)), form=self.form).parts(distances, {})
        pairs = zip(self.matches, parts.tokens.tolist(), strict=True)
        matches = tuple(match._replace(weight=1.0, contribution=brought) for match, brought in pairs)
        return replace(self, matches=matches, evidence=())

    def against(self, other: "Explanation") -> list[Difference]:
        """Compare two scores by word and evidence, largest difference first; special tokens are one of them.

        For two documents this shows why one ranks above the other; for one document with two sets of weights, what the
        weights changed.

        Args:
            other: an explanation for the same query.
        """
        if [word.text for word in self.words] != [word.text for word in other.words]:
            raise InputError("explanations can be compared only for the same query; these are for different queries")
        pairs = zip(self.lines, other.lines, strict=True)
        differences = [Difference(one.text, one.contribution, another.contribution) for one, another in pairs]
        one, another = ({part.name: part.contribution for part in each.evidence} for each in (self, other))
        names = dict.fromkeys((*one, *another))
        differences += [Difference(name, one.get(name, 0.0), another.get(name, 0.0), True) for name in names]
        return sorted(differences, key=lambda difference: -abs(difference.gain))

    def as_json(self) -> dict[str, Any]:
        """A dict that ``json.dumps`` accepts."""
        return {
            "id": self.document_id,
            "title": self.title,
            "passage": None if self.passage is None else self.passage.as_json(),
            "score": self.score,
            "paper_score": self.paper_score,
            "form": self.form,
            "special_share": self.special_share,
            "words": [word._asdict() for word in self.words],
            "matches": [match._asdict() for match in self.matches],
            "evidence": [part._asdict() for part in self.evidence],
        }

    def _repr_html_(self) -> str:
        rows: list[Row] = [
            (word.text, word.weight, word.matched, word.contribution, f"{word.share:.0%}") for word in self.lines
        ]
        rows += [
            (
                f"{one.name} evidence",
                one.factor,
                f"{one.value:.2f} of {one.perfect:.2f}",
                one.contribution,
                f"{self.share_of(one):.0%}",
            )
            for one in self.evidence
        ]
        caption = f"score {self.score:.4f}, {self.special_share:.0%} from special tokens"
        if self.document_id:
            part = f", {self.passage}" if self.passage is not None and self.passage.of > 1 else ""
            caption = f"{self.document_id}{self.title and f' ({self.title})'}{part}: {caption}"
        shown = table(["query word", "weight", "matched", "contribution", "share"], rows, caption=caption)
        if self.document is None:
            return shown
        visible = [(match.span, max(match.contribution, 0.0)) for match in self.matches if not match.special]
        strongest = max((strength for span, strength in visible if span is not None), default=0.0) or 1.0
        marks = [(*span, strength / strongest) for span, strength in visible if span is not None]
        return f'{shown}<p style="white-space:pre-wrap">{marked(self.document, marks)}</p>'

    @property
    def lines(self) -> list[Word]:
        """The query words in order, with all special tokens taken together in one line at the end."""
        words, special = self.words, [match for match in self.matches if match.special]
        lines = [word for word in words if not word.special]
        return [*lines, self._word(special)._replace(text=SPECIAL_TOKENS)] if special else lines

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

    def share_of(self, part: EvidencePart) -> float:
        """The share of the score, from 0 to 1, that comes from a piece of evidence."""
        return self._share([part])

    @property
    def _parts(self) -> list[Match | EvidencePart]:
        return [*self.matches, *self.evidence]

    def _share(self, parts: Sequence[Match | EvidencePart]) -> float:
        """Of what was contributed to the score; a token that points away from its match contributes nothing."""
        whole = math.fsum(max(part.contribution, 0.0) for part in self._parts)
        return math.fsum(max(part.contribution, 0.0) for part in parts) / whole if whole else 0.0
