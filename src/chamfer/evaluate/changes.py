"""Why a query was won or lost: the relevant document that moved most, the one that passed it, and the words."""

import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from chamfer.data.ranking import Ranking
from chamfer.evaluate.measures import MAIN, cutoff
from chamfer.explain.explanation import Explanation
from chamfer.explain.matches import Match

Explain = Callable[[str, str, Sequence[str]], Sequence[Explanation | None] | None]
"""Explains the scores of documents, from the name of a system, the id of a query and ids of documents.

None stands for a system without token weights, and for a document without tokens.
"""

# Characters of a text that are shown after its last match.
BEHIND = 200


class MovedDocument(NamedTuple):
    """A document, and its ranks with the baseline and with the system."""

    id: str
    """Id of the document."""
    grade: int | None
    """Its grade for the query; None if it was not judged."""
    before: int | None
    """Its rank with the baseline, from 1; None if the baseline does not rank it."""
    after: int | None
    """Its rank with the system."""
    text: str = ""
    """Its title and text, up to the last match; empty if no score is explained."""
    marks: tuple[tuple[int, int, float], ...] = ()
    """Where words of the query match: start, stop, and strength from 0 to 1."""
    title: str = ""
    """Its title, if the index has one."""


class Gap(NamedTuple):
    """How much one word of the query, or one piece of evidence, favours the relevant document over the other."""

    text: str
    """The word, ``special tokens``, or the name of the evidence."""
    kind: Literal["word", "special", "evidence"]
    """What it is."""
    before: float | None
    """With the baseline, its contribution to the relevant document's score minus that to the other's."""
    after: float | None
    """The same with the system."""

    @property
    def change(self) -> float:
        """What the system changes."""
        return (self.after or 0.0) - (self.before or 0.0)


class Change(NamedTuple):
    """Why a query was won or lost."""

    query: str
    """Id of the query."""
    relevant: MovedDocument
    """The relevant document that gained or lost most by its new rank."""
    other: MovedDocument | None
    """The first document that overtook it, or that it overtook; None if fewer documents were found instead."""
    gaps: tuple[Gap, ...] = ()
    """Why one of the two is ahead, word by word, largest change first; with each system, they add up to the difference
    of both scores."""
    unexplained: str = ""
    """Why gaps are missing; empty if they are all there."""

    def as_json(self) -> dict[str, Any]:
        """A dict that ``json.dumps`` accepts."""
        documents = {name: one and one._asdict() for name, one in (("relevant", self.relevant), ("other", self.other))}
        return {**self._asdict(), **documents, "gaps": [gap._asdict() for gap in self.gaps]}


def change_of(
    query: str,
    grades: Mapping[str, int],
    baseline: tuple[str, Ranking | None],
    system: tuple[str, Ranking | None],
    explain: Explain | None,
) -> Change | None:
    """Return why a query was won or lost; None if no relevant document gained or lost anything by its rank.

    Args:
        query: id of the query.
        grades: grades of its documents.
        baseline: name of the baseline, and its ranking.
        system: name of the system, and its ranking.
        explain: explains scores.
    """
    before, after = (_ranks(ranking) for _, ranking in (baseline, system))
    gains = {
        document: grade * (_discount(after.get(document)) - _discount(before.get(document)))
        for document, grade in grades.items()
        if grade > 0
    }
    total = math.fsum(gains.values())
    moved = [document for document, gain in gains.items() if gain * total > 0]
    if not moved:
        return None
    relevant = max(moved, key=lambda document: abs(gains[document]))
    passed = _passed(relevant, grades, (after, before) if total < 0 else (before, after))

    def moved_document(document: str) -> MovedDocument:
        return MovedDocument(document, grades.get(document), before.get(document), after.get(document))

    if passed is None:
        return Change(query, moved_document(relevant), None, unexplained="no other document took its place")
    change = Change(query, moved_document(relevant), moved_document(passed))
    return _explained(change, baseline[0], system[0], explain)


def _ranks(ranking: Ranking | None) -> dict[str, int]:
    return {} if ranking is None else {document: rank for rank, document in enumerate(ranking.document_ids, 1)}


def _discount(rank: int | None) -> float:
    """What nDCG counts of a grade at a rank."""
    return 0.0 if rank is None or rank > cutoff(MAIN) else 1 / math.log2(rank + 1)


def _passed(relevant: str, grades: Mapping[str, int], ranks: tuple[dict[str, int], dict[str, int]]) -> str | None:
    """The best document that is ahead of the relevant one in the first ranks, and behind it in the others.

    One that is less relevant, if there is one.
    """
    ahead, behind = ranks
    own, others = ahead.get(relevant, math.inf), behind.get(relevant, math.inf)
    found = [one for one, rank in ahead.items() if rank < own and behind.get(one, math.inf) > others]
    return min(found, key=lambda one: (grades.get(one, 0) >= grades[relevant], ahead[one]), default=None)


def _explained(change: Change, baseline: str, system: str, explain: Explain | None) -> Change:
    assert change.other is not None
    if explain is None:
        return change._replace(unexplained="the documents are no longer available, so scores cannot be explained")
    ids = [change.relevant.id, change.other.id]
    pairs = [explain(name, change.query, ids) for name in (baseline, system)]
    if pairs == [None, None]:
        return change._replace(unexplained=f"{baseline} and {system} rank without token weights, so there are no words")
    unknown = [
        one for one, *each in zip(ids, *(pair for pair in pairs if pair is not None), strict=True) if None in each
    ]
    if unknown:
        told = f"document {reprlib.repr(unknown[0])} is not in the collection, or has no tokens"
        return change._replace(unexplained=f"{told}, so its score has no words")
    before, after = map(_without_none, pairs)
    shown = after or before
    assert shown is not None
    weightless = [name for name, pair in zip((baseline, system), pairs, strict=True) if pair is None]
    told = f"{weightless[0]} ranks without token weights, so its words are missing" if weightless else ""
    return change._replace(
        relevant=_with_text(change.relevant, shown[0]),
        other=_with_text(change.other, shown[1]),
        gaps=tuple(sorted(_gaps(before, after), key=lambda gap: -abs(gap.change))),
        unexplained=told,
    )


def _without_none(pair: Sequence[Explanation | None] | None) -> list[Explanation] | None:
    return None if pair is None else [one for one in pair if one is not None]


def _gaps(before: Sequence[Explanation] | None, after: Sequence[Explanation] | None) -> list[Gap]:
    pairs = [_differences(pair) if pair else {} for pair in (before, after)]
    keys = dict.fromkeys(key for pair in pairs for key in pair)
    found = []
    for key in keys:
        _, text, kind = key
        values = [pair.get(key, 0.0) if given else None for pair, given in zip(pairs, (before, after), strict=True)]
        found.append(Gap(text, kind, *values))
    return found


Key = tuple[int, str, Literal["word", "special", "evidence"]]


def _differences(pair: Sequence[Explanation]) -> dict[Key, float]:
    """What each line of two explanations for one query contributes to the first score, minus that to the second."""
    one, other = pair
    found: dict[Key, float] = {}
    for place, (own, others) in enumerate(zip(one.lines, other.lines, strict=True)):
        kind: Literal["word", "special"] = "special" if own.special else "word"
        found[place, own.text, kind] = own.contribution - others.contribution
    for part, same in zip(one.evidence, other.evidence, strict=True):
        found[-1, part.name, "evidence"] = part.contribution - same.contribution
    return found


def _with_text(document: MovedDocument, explanation: Explanation) -> MovedDocument:
    """The document with its text, in which matches are marked as strongly as they contribute."""
    matches = [
        (*match.span, match.contribution)
        for match in explanation.matches
        if match.span is not None and match.contribution > 0 and _says_something(match)
    ]
    strongest = max((strength for *_, strength in matches), default=0.0)
    text = explanation.document or ""
    return document._replace(
        text=text[: max((stop for _, stop, _ in matches), default=0) + BEHIND],
        marks=tuple((start, stop, round(strength / strongest, 3)) for start, stop, strength in matches),
        title=explanation.title,
    )


def _says_something(match: Match) -> bool:
    """Whether a match is one of words; special tokens and punctuation match, too."""
    return not match.special and all(any(map(str.isalnum, word)) for word in (match.text, match.word))
