"""Cutting long texts before they are tokenised: of a book, a model reads the first pages."""

import re
from collections.abc import Callable
from typing import Protocol

# Characters per token to try first; more than any language needs with a tokenizer made for it. The next try has more.
CHARACTERS, GROWTH = 32, 4

# Pieces at the end of a cut text that may differ from those of the whole one. One would do; the others are for
# characters that are normalised together.
UNSURE = 8

# Characters after which to give up if they are few pieces: an endless word or number, or blanks. Takes a tenth of a
# second. What follows them is not read. A model that reads many tokens tries at least twice.
LONGEST = 1 << 17

# Some tokenizers group the digits of a number from its end, and the best split of a word that repeats a few letters may
# depend on its length. So what is cut off a number, a word or a row of blanks is a multiple of all small sizes.
RUN, MULTIPLE = re.compile(r"\d+|\S+|\s*"), 60


class Pieces(Protocol):
    """What a tokenizer returns for a text."""

    @property
    def word_ids(self) -> list[int | None]:
        """For every token, the number of the piece that it belongs to."""
        ...


def cut(text: str, limit: int, read: Callable[[str], Pieces]) -> str:
    """The beginning of a text, with the same first tokens as the whole of it, and more than ``limit`` tokens.

    A tokenizer splits a text into pieces, words or shorter, and each piece into tokens by itself. Where a piece ends
    depends on the next few characters at most. So the tokens of all pieces but the last few of a beginning are those
    of the whole text. A text is returned whole if it is short; cut at :data:`LONGEST` characters or later if these
    hold too few pieces.

    Args:
        text: the text.
        limit: number of tokens that matter.
        read: tokenises a text whole, without special tokens.
    """
    size = CHARACTERS * limit
    longest = max(LONGEST, GROWTH * size)
    while 2 * size < len(text):
        rest = RUN.match(text, size).end() - size  # type: ignore[union-attr]  # matches anything
        beginning = text[: size + rest % MULTIPLE]
        pieces = [piece or 0 for piece in read(beginning).word_ids]
        if size >= longest or (len(pieces) > limit and pieces[limit - 1] + UNSURE <= pieces[-1]):
            return beginning
        size *= GROWTH
    return text
