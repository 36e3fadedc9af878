"""Merging word pieces into the words they spell, whichever way a tokenizer marks word boundaries."""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from chamfer.tokens.batch import TokenIds
from chamfer.tokens.vocabulary import BYTE_BPE, SENTENCEPIECE, WORDPIECE, Vocabulary

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
        """Whether each token begins a word."""
        special = self.vocabulary.special_ids
        begins = []
        for place, token in enumerate(token_ids):
            spelled = self.vocabulary.tokens[token]
            alone = place == 0 or token in special or token_ids[place - 1] in special
            marked = spelled.startswith(self._mark)
            continues = marked if self._mark == WORDPIECE else not marked
            begins.append(bool(alone or not continues))
        return begins

    def words(self, token_ids: Sequence[int] | TokenIds) -> list[list[int]]:
        """Token ids grouped by word."""
        words: list[list[int]] = []
        for token, begins in zip(token_ids, self.starts(token_ids), strict=True):
            if begins:
                words.append([])
            words[-1].append(int(token))
        return words

    def word_of_each(self, token_ids: Sequence[int] | TokenIds) -> list[str]:
        """The whole word that each token belongs to."""
        return [text for word in self.words(token_ids) for text in [self.text(word)] * len(word)]

    def text(self, pieces: Sequence[int]) -> str:
        """The text that consecutive pieces of one word spell."""
        tokens = [self.vocabulary.tokens[piece] for piece in pieces]
        if self._mark == WORDPIECE:
            return "".join(token.removeprefix(WORDPIECE) for token in tokens)
        spelled = "".join(tokens)
        if self._mark == BYTE_BPE and all(character in _byte_of() for character in spelled):
            spelled = bytes(_byte_of()[character] for character in spelled).decode(errors="replace")
        return spelled.replace(SENTENCEPIECE, " ").strip() or spelled


class Placed(NamedTuple):
    """The document word that a token belongs to, and its character range in the text."""

    word: str
    span: Span | None


def placed(kept: TokenIds, read: Sequence[tuple[int, Span | None]], spelling: Spelling) -> list[Placed]:
    """Find stored document tokens in the text of the document.

    Not every token of the text has a stored vector: some models drop punctuation, and an index may pool several tokens
    under the id of the first. Words are therefore taken from the text, and repeated token ids are assigned in order.

    Args:
        kept: ids of the stored tokens.
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
    """The byte behind each character of byte-level BPE: printable bytes stand for themselves, others start at 256."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + place): byte for place, byte in enumerate(hidden)}
