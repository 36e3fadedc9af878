"""Word pieces joined to the words that they spell, however a tokenizer marks them."""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from chamfer.tokens.batch import TokenIds
from chamfer.tokens.vocabulary import BEGINS, BYTES_BEGIN, GOES_ON, Vocabulary

Span = tuple[int, int]


class Spelling:
    """How the tokens of a vocabulary spell words.

    >>> spelling = Spelling(Vocabulary(("[CLS]", "un", "##believ", "##able", "story"), frozenset({0})))
    >>> [spelling.text(piece) for piece in spelling.words([0, 1, 2, 3, 4])]
    ['[CLS]', 'unbelievable', 'story']
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary, self._mark = vocabulary, vocabulary.word_mark

    def starts(self, token_ids: Sequence[int] | TokenIds) -> list[bool]:
        """For each token, whether it begins a word."""
        special = self.vocabulary.special_ids
        begins = []
        for place, token in enumerate(token_ids):
            spelled = self.vocabulary.tokens[token]
            alone = place == 0 or token in special or token_ids[place - 1] in special
            goes_on = spelled.startswith(GOES_ON) if self._mark == GOES_ON else not spelled.startswith(self._mark)
            begins.append(bool(alone or not goes_on))
        return begins

    def words(self, token_ids: Sequence[int] | TokenIds) -> list[list[int]]:
        """The tokens of each word."""
        words: list[list[int]] = []
        for token, begins in zip(token_ids, self.starts(token_ids), strict=True):
            if begins:
                words.append([])
            words[-1].append(int(token))
        return words

    def word_of_each(self, token_ids: Sequence[int] | TokenIds) -> list[str]:
        """For each token the whole word that it is a piece of."""
        return [text for word in self.words(token_ids) for text in [self.text(word)] * len(word)]

    def text(self, pieces: Sequence[int]) -> str:
        """What some pieces of a word spell together."""
        tokens = [self.vocabulary.tokens[piece] for piece in pieces]
        if self._mark == GOES_ON:
            return "".join(token.removeprefix(GOES_ON) for token in tokens)
        spelled = "".join(tokens)
        if self._mark == BYTES_BEGIN and all(character in _byte_of() for character in spelled):
            spelled = bytes(_byte_of()[character] for character in spelled).decode(errors="replace")
        return spelled.replace(BEGINS, " ").strip() or spelled


class Placed(NamedTuple):
    """The word that a token of a document is a piece of, and where in the text the token is."""

    word: str
    span: Span | None


def placed(kept: TokenIds, read: Sequence[tuple[int, Span | None]], spelling: Spelling) -> list[Placed]:
    """Find the tokens that a document keeps vectors of in its text.

    A model may keep none for punctuation, and an index one for several tokens, under the id of the first: so words are
    those of the text, and of several tokens of one id the first that is kept is the first in the text.

    Args:
        kept: the ids of those tokens.
        read: ids and spans of all tokens of the text.
        spelling: how tokens spell words.
    """
    waiting: defaultdict[int, list[Placed]] = defaultdict(list)
    words = spelling.word_of_each([token for token, _ in read])
    for (token, span), word in zip(reversed(read), reversed(words), strict=True):
        waiting[token].append(Placed(word, span))
    return [waiting[token].pop() if waiting[token] else Placed(spelling.text([token]), None) for token in kept.tolist()]


@lru_cache(maxsize=1)
def _byte_of() -> dict[str, int]:
    """Byte-level BPE writes a byte as a visible character: itself where it is one, else the next free one from 256."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + place): byte for place, byte in enumerate(hidden)}
