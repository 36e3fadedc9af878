"""Which queries ``chamfer demo`` shows: those in which the right answer moved far, up or down."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from chamfer.weights.zero_shot import MIX, SOFT_IDF, UNIFORM

RISES, FALLS, SHOWN = 2, 1, 3
"""Most queries under each heading, and documents of each ranking."""
FAR_UP, FAR_DOWN = 3, 2
"""A rank that became at least so many times better moved up, and one that became so many times worse moved down."""

# Queries that are shown fit on a line with their weights, and are plain English.
WORDS, PLAIN = range(4, 14), re.compile(r"[A-Z][a-z]+[A-Za-z ,'-]+\.")
# Modules that few people have seen: those that Python has removed since (PEP 594, PEP 632), tools, and windows.
OBSCURE = {
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils", "imghdr", "imp"),
    *("lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr", "spwd", "sunau"),
    *("telnetlib", "uu", "xdrlib", "idlelib", "pydoc_data", "tkinter", "turtle", "turtledemo"),
}


class Case(NamedTuple):
    """A query, its right answer, and its rankings with each weighting."""

    query: str
    answer: str
    rankings: Mapping[str, Sequence[str]]

    def rank(self, weights: str) -> int:
        """Rank of the right answer with a weighting, from 1."""
        return self.rankings[weights].index(self.answer) + 1

    def top(self, weights: str) -> Sequence[str]:
        """The documents that are shown."""
        return self.rankings[weights][:SHOWN]

    @property
    def ranks(self) -> str:
        """The rank with each weighting, in a sentence."""
        return (
            f"rank {self.rank(UNIFORM)} with uniform weights, {self.rank(SOFT_IDF)} with {SOFT_IDF}, "
            f"{self.rank(MIX)} with {MIX}"
        )


def raised_by_weights(cases: Iterable[Case]) -> list[Case]:
    """Queries whose right answer token weights alone moved far up, and the mix does not move back."""
    return _raised(UNIFORM, SOFT_IDF, (case for case in cases if case.rank(MIX) <= (case.rank(UNIFORM) + 1) / 2))


def raised_by_mix(cases: Iterable[Case]) -> list[Case]:
    """Queries whose right answer the mix moved far up, and token weights alone did not."""
    return _raised(UNIFORM, MIX, (case for case in cases if case.rank(SOFT_IDF) >= 2 * case.rank(MIX)))


def lowered_by_mix(cases: Iterable[Case]) -> list[Case]:
    """Queries whose right answer was at the top, and the mix moved far down."""
    fallen = [case for case in cases if case.rank(UNIFORM) <= SHOWN and case.rank(MIX) >= FAR_DOWN * case.rank(UNIFORM)]
    return sorted(fallen, key=lambda case: case.rank(UNIFORM) / case.rank(MIX))[:FALLS]


def _raised(before: str, after: str, cases: Iterable[Case]) -> list[Case]:
    risen = [case for case in cases if case.rank(after) <= SHOWN and case.rank(before) >= FAR_UP * case.rank(after)]
    return sorted(risen, key=lambda case: (case.rank(after) > 1, case.rank(after) / case.rank(before)))[:RISES]


def is_plain(query: str, tokens: Iterable[str]) -> bool:
    """Whether a query is plain English of which every word is one token."""
    whole = not any(token.startswith("##") for token in tokens)
    return whole and len(query.split()) in WORDS and PLAIN.fullmatch(query) is not None
