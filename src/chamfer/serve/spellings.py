"""How the tokens of a vocabulary are spelled: as words, as what is searched for, and in order."""

from functools import lru_cache
from typing import Any

import numpy as np

from chamfer.explain.words import Spelling
from chamfer.tokens.vocabulary import Vocabulary


class Spelled:
    """How the tokens of a vocabulary are spelled.

    Args:
        vocabulary: the vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        spelling, self.tokens = Spelling(vocabulary), vocabulary.tokens
        self.texts = [spelling.text([token]) for token in range(len(vocabulary))]
        # Each behind itself, because the first token of a text begins a word whatever its spelling.
        self.starts = spelling.starts(np.repeat(np.arange(len(vocabulary)), 2).tolist())[1::2]
        self.searched = [
            token.lower() if token == text else f"{token}\n{text}".lower()
            for token, text in zip(vocabulary.tokens, self.texts, strict=True)
        ]
        words = [
            starts and text.isalpha() and (len(text) > 1 or not text.isascii())
            for starts, text in zip(self.starts, self.texts, strict=True)
        ]
        self.is_word = np.array(words, np.bool_) & ~vocabulary.is_special
        # Ties of weight and frequency are broken in favour of whole words, then by the alphabet.
        places = sorted(range(len(vocabulary)), key=lambda token: (not self.is_word[token], vocabulary.tokens[token]))
        self.rank = np.argsort(np.array(places))

    def fields(self, token: int) -> dict[str, Any]:
        """The fields of :class:`chamfer.serve.schemas.fields.TokenFields`."""
        return {"token": self.tokens[token], "text": self.texts[token], "starts_word": self.starts[token]}


@lru_cache(maxsize=2)
def spelled(vocabulary: Vocabulary) -> Spelled:
    """How the tokens of a vocabulary are spelled; found out once."""
    return Spelled(vocabulary)
