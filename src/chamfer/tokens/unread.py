"""Texts in a script that a model cannot read: to its tokenizer, words are unknown, or rows of single letters."""

import reprlib
import unicodedata
import warnings
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from chamfer.errors import InputWarning
from chamfer.tokens.batch import TokenBatch, TokenIds
from chamfer.tokens.vocabulary import Vocabulary

# How tokenizers write a word that they do not know.
UNKNOWN = frozenset({"[UNK]", "<unk>"})

# Names of characters begin with these. Every tokenizer knows some words in Latin letters. Of the other scripts, one
# letter is a word or a syllable.
LATIN = ("LATIN", "FULLWIDTH LATIN")
WORDS_OF_ONE_LETTER = ("HANGUL SYLLABLE", "BOPOMOFO", "YI ", *LATIN)
EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA")

# Ideographs of a vocabulary that was made for Chinese or Japanese; others have a few hundred.
IDEOGRAPHS = 2_000

# Fewest single letters that make a text unreadable; fewer may be a symbol.
FEWEST = 3

# Characters of a text that are looked at to tell its script.
GLANCE = 2_000

# What to suggest.
MULTILINGUAL = "intfloat/multilingual-e5-small"


class Readable:
    r"""Which tokens of a vocabulary say something.

    Args:
        vocabulary: the vocabulary.

    >>> tokens = ("[CLS]", "[UNK]", "cat", "\u043a", "##\u043e", "##\u0442", ".")
    >>> readable = Readable(Vocabulary(tokens, frozenset({0})))
    >>> readable.reads("cat.", np.array([0, 2, 6])), readable.reads("\u043a\u043e\u0442", np.array([0, 3, 4, 5]))
    (True, False)
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        texts = [token.lstrip("#Ġ▁") for token in vocabulary.tokens]
        self._unknown = np.array([token in UNKNOWN for token in vocabulary.tokens], np.bool_)
        names = [unicodedata.name(text, "") if len(text) == 1 and text.isalpha() else "" for text in texts]
        words: tuple[str, ...] = WORDS_OF_ONE_LETTER
        if sum(name.startswith(EAST_ASIAN) for name in names) >= IDEOGRAPHS:
            words += EAST_ASIAN
        self._letters = np.array([bool(name) and not name.startswith(words) for name in names], np.bool_)
        said = np.array([any(map(str.isalnum, text)) for text in texts], np.bool_)
        self._counted = (said | self._unknown) & ~vocabulary.is_special

    def reads(self, text: str, token_ids: TokenIds) -> bool:
        """Whether a text is in Latin letters, or at least half of its words are known; punctuation does not count."""
        if not _is_foreign(text):
            return True
        counted = token_ids[self._counted[token_ids]]
        unknown, letters = int(self._unknown[counted].sum()), int(self._letters[counted].sum())
        return 2 * (unknown + (letters if letters >= FEWEST else 0)) <= len(counted)


def _is_foreign(text: str) -> bool:
    """Whether most letters at the beginning of a text are not Latin."""
    letters = [letter for letter in text[:GLANCE] if letter.isalpha()]
    return 2 * sum(not unicodedata.name(letter, "").startswith(LATIN) for letter in letters) > len(letters)


@lru_cache(maxsize=4)
def readable(vocabulary: Vocabulary) -> Readable:
    """Which tokens of a vocabulary say something; looked up once."""
    return Readable(vocabulary)


def unread(texts: Sequence[str], tokens: TokenBatch, vocabulary: Vocabulary) -> list[int]:
    """Places of the texts that a model with this vocabulary cannot read.

    Args:
        texts: the texts.
        tokens: their tokens.
        vocabulary: the tokens behind the ids.
    """
    return [place for place, text in enumerate(texts) if not is_read(text, tokens[place].token_ids, vocabulary)]


def is_read(text: str, token_ids: TokenIds, vocabulary: Vocabulary) -> bool:
    """Whether a model with this vocabulary can read a text, given its tokens."""
    return text.isascii() or readable(vocabulary).reads(text, token_ids)


def warn_of_unread(ids: Sequence[str], documents: int, model: str) -> None:
    """Warn of documents that a model cannot read.

    Args:
        ids: their ids.
        documents: number of documents that were encoded.
        model: name of the model.
    """
    if ids:
        what = f"{len(ids)} of {documents} documents (the first is {reprlib.repr(ids[0])})"
        warnings.warn(unread_note(what, model), InputWarning, stacklevel=5)


def unread_note(what: str, model: str) -> str:
    """A sentence about unread texts, and the way out.

    Args:
        what: the texts: ``"the query 'x'"``.
        model: name of the model that cannot read them.
    """
    return (
        f"{model} does not know the script of {what}: to its tokenizer, words are unknown or rows of single letters; "
        f"build the index with a multilingual model, for example {MULTILINGUAL}"
    )
